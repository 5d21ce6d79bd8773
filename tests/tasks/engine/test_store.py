"""Where results may go: said before any work, and nothing is made for work that fails."""

from pathlib import Path

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.cells.running import Running
from multilogger.flows.reproduction.scope import reproduce_parameters
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
        reproduce_parameters("table2", ["digits"], ["crf"], 1, None, None, out, None, Running(1))


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
