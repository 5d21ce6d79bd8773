"""What a log file is told of long work."""

import pytest

from multilogger.flows.terminal import terminal
from multilogger.flows.terminal.terminal import Terminal


def test_names_are_no_commands_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "old\x1b[2J\x9b1m\u202e"
    watcher = Terminal()
    watcher.say(f"{name}: a number")
    watcher.table(f"Of {name}", [{f"by {name}": f"[b]{name}"}])
    watcher.out.print(f"{name} is best", markup=False)
    shown = "".join(capsys.readouterr())
    assert not set(shown) & set("\x1b\x9b\u202e")
    assert shown.count(r"old\x1b[2J\x9b1m\u202e") == 5


def test_a_pipe_hears_now_and_then_how_far_long_work_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Terminal() as watcher, watcher.bar("cells", 4) as advance:
        advance(1)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(terminal, "PIPE_SECONDS", 0.0)
        advance(2, "a note")
    assert capsys.readouterr().err == "cells: 3 of 4 (75%)\n"
    monkeypatch.setattr(terminal, "PIPE_SECONDS", 0.0)
    with Terminal() as watcher, watcher.bar("fitting", 1.0) as advance:
        advance(0.25)
    assert capsys.readouterr().err == "fitting: 25%\n"
