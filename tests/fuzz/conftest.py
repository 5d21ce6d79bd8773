"""What holds at every door."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nothing_is_written_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Relative paths of odd inputs would end in a folder that stays empty; see `ODD` for the others."""
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    yield
    assert not list(here.iterdir())
    assert not [path for path in (tmp_path / "x", Path("/etc/x")) if path.exists()]
