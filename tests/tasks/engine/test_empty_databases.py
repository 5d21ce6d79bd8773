"""Empty databases that are kept for the next store."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from multilogger.tasks.engine import empty_databases
from multilogger.tasks.engine.empty_databases import copy_kept, keep_copy


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database whose last rows are still in its journal, and an empty folder to keep it in."""
    monkeypatch.setattr(empty_databases, "FOLDER", tmp_path / "kept")
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table experiments (name)")
        database.commit()
    return path


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("select name from sqlite_master")]


def test_a_new_store_begins_with_a_copy(made: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    assert not copy_kept("mlflow", new)
    with closing(sqlite3.connect(made)) as still_open:
        still_open.execute("create table runs (name)")
        still_open.commit()
        keep_copy("mlflow", made)
    assert copy_kept("mlflow", new)
    assert tables(new) == ["experiments", "runs"]
    assert [path.name for path in new.parent.glob("new*")] == ["new.db"]


def test_each_version_has_its_own(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_copy("mlflow", made)
    monkeypatch.setattr(empty_databases, "version", lambda _: "99.0")
    assert not copy_kept("mlflow", tmp_path / "new.db")


@pytest.mark.parametrize("damage", [b"", b"no database at all, but some bytes" * 200])
def test_a_damaged_one_is_dropped(made: Path, tmp_path: Path, damage: bytes) -> None:
    keep_copy("mlflow", made)
    (kept,) = empty_databases.FOLDER.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage + whole[len(damage) :] if damage else whole[: len(whole) // 2])
    assert not copy_kept("mlflow", tmp_path / "new.db")
    assert not kept.exists()
    assert not (tmp_path / "new.db").exists()


def test_a_full_disk_is_no_damage(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_copy("mlflow", made)
    (kept,) = empty_databases.FOLDER.iterdir()

    def full(_source: Path, target: Path) -> None:
        with closing(sqlite3.connect(target)) as database:
            database.execute("pragma max_page_count = 1")
            database.execute("create table runs (name)")

    monkeypatch.setattr(empty_databases, "_copy", full)
    with pytest.raises(OSError, match="No space left on device"):
        copy_kept("mlflow", tmp_path / "new.db")
    assert kept.exists()


def test_nothing_is_kept_where_nothing_can_be_written(made: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file where the folder would be")
    keep_copy("mlflow", made)
    assert not copy_kept("mlflow", tmp_path / "new.db")
