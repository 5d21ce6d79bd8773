"""A full disk is known by the room that is left, and by what libraries say."""

import errno
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from multilogger.tasks.engine.disk_room import is_full, no_room, says_full


@pytest.mark.parametrize(("free", "full"), [(0, True), (99_999, True), (10**6, False)])
def test_no_room_is_left(free: int, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert is_full(tmp_path) is full


def test_a_folder_that_is_not_there_is_not_full(tmp_path: Path) -> None:
    assert not is_full(tmp_path / "nowhere")


def test_what_sqlite_says(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "small.db")) as database:
        database.execute("pragma max_page_count = 2")
        with pytest.raises(sqlite3.Error) as full:
            database.execute(f"create table {'t' * 5000} (name)")
    assert says_full(f"(sqlite3.OperationalError) {full.value}")
    assert says_full(str(no_room(tmp_path)))
    assert not says_full("disk I/O error")


def test_the_error_names_the_place(tmp_path: Path) -> None:
    error = no_room(tmp_path)
    assert (error.errno, error.filename) == (errno.ENOSPC, str(tmp_path))
