"""What becomes of a stop that comes while Python is cleaning up."""

import sys

import pytest

from multilogger.flows.cluster.stopping import Stopped, stoppable


class Unruly:
    """Raises where nobody can catch it."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def test_only_a_lost_stop_is_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type.__name__))
    for _ in range(2):  # a worker does many tasks
        with stoppable("a test"):
            Unruly(Stopped)
            Unruly(ValueError)
    assert told == ["ValueError", "ValueError"]
    assert not capsys.readouterr().err
