"""Where results may go: said before any work, and nothing is made for work that fails."""

import errno
from pathlib import Path
from uuid import UUID

import pytest
import typer

from multilogger.components.errors import BadInput
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.reproduction.scope import reproduce_parameters
from multilogger.flows.servers.session import flow_session
from multilogger.flows.terminal.errors import one_line_errors
from multilogger.tasks.engine.store import Store, check_folder, writable_folder


def test_checking_makes_nothing_and_making_does(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "where"
    check_folder(folder)
    assert not list(tmp_path.iterdir())
    assert writable_folder(folder) == folder
    check_folder(folder)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_way_is_refused_before_a_reproduction_begins(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / below
    for refuse in (check_folder, writable_folder):
        with pytest.raises(
            BadInput, match=rf"cannot write to the output folder {out} \(.*\); choose another"
        ):
            refuse(out)
    with pytest.raises(BadInput, match="choose another with --out"):
        reproduce_parameters("table2", ["digits"], ["crf"], 1, None, None, out, None, RunnerChoice(1))


@pytest.mark.parametrize("mark", ["?", "#"])
def test_path_that_a_database_would_misread_is_refused(tmp_path: Path, mark: str) -> None:
    """MLflow's database would stand elsewhere: what follows the mark is cut off."""
    with pytest.raises(BadInput, match=r"the path of a store has no \? and no #"):
        Store(tmp_path / f"a{mark}b").open()
    assert not list(tmp_path.iterdir())


def test_home_that_nobody_knows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTILOGGER_HOME", "~nobody-has-this-name/store")
    with pytest.raises(BadInput, match=r"cannot be found .* give a path that begins with /"):
        Store.current()


def test_path_that_is_too_long_and_a_home_that_nobody_knows_are_said_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PREFECT_HOME")
    for named, said in (
        (str(tmp_path / ("a" * 300)), "File name too long"),
        ("~nobody-has-this-name/store", "give a path that begins with /"),
    ):
        monkeypatch.setenv("MULTILOGGER_HOME", named)
        with pytest.raises(typer.Exit) as stopped, one_line_errors(debug=False), flow_session(False):
            raise AssertionError
        assert stopped.value.exit_code == 2
        assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_asks_for_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(BadInput, match=r"No space left on device\); free some space, or choose another"):
        Store(tmp_path).open()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a' or '' = '", b"0" * 31, None])
def test_a_damaged_identity_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "store-id"
    if content is not None:
        path.write_bytes(content)
    identity = Store(tmp_path).identity
    assert UUID(hex=identity).hex == identity == path.read_text()
    assert Store(tmp_path).identity == identity
    assert path.stat().st_mode & 0o777 == 0o644
