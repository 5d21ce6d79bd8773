"""Commands that are ended from outside: real processes, real signals."""

import signal
import subprocess
import sys
import warnings

import pytest

from multilogger.components.features.columns import UnseenValues
from multilogger.flows.terminal.errors import INTERRUPTED, TERMINATED, warn_in_lines

ENDED = """
import os, signal, threading
from contextlib import nullcontext
from multilogger.flows.terminal.errors import one_line_errors

def wait(number):
    # What `Condition.wait` does: its lock is given up, and the signal comes before it is taken again.
    lock = threading.Lock()
    with lock:
        lock.release()
        signal.raise_signal(number)

def run(number, in_flow):
    if in_flow:
        from prefect.utilities.engine import capture_sigterm as around
    else:
        around = nullcontext
    with one_line_errors(debug=True), around():
        wait(number)

try:
    run({number}, {in_flow})
except BaseException as left:
    os._exit(getattr(left, "exit_code", getattr(left, "code", 99)))
"""


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("number", "in_flow", "code", "word"),
    [
        (signal.SIGTERM, False, TERMINATED, "terminated"),
        (signal.SIGTERM, True, TERMINATED, "terminated"),
        (signal.SIGHUP, False, TERMINATED, "terminated"),
        (signal.SIGINT, False, INTERRUPTED, "interrupted"),
    ],
)
def test_a_signal_that_leaves_a_lock_in_the_wrong_state_is_told_as_the_signal(
    number: signal.Signals, in_flow: bool, code: int, word: str
) -> None:
    """Without this the line was "unexpected RuntimeError: release unlocked lock"."""
    done = ended(ENDED.format(number=int(number), in_flow=in_flow))
    line = f"multilogger: {word}; finished stages are kept, the same command goes on from there"
    assert (done.returncode, done.stderr.splitlines()) == (code, [line])


TWICE = """
import os, signal
from multilogger.flows.terminal.errors import one_line_errors

try:
    with one_line_errors(debug=False):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
except SystemExit as left:
    os._exit(left.code)
"""


def test_a_signal_that_comes_twice_is_told_once() -> None:
    """`timeout` sends SIGTERM to the process and to its group."""
    done = ended(TWICE)
    assert (done.returncode, len(done.stderr.splitlines())) == (TERMINATED, 1), done.stderr


AS_WORKER = """
import os, signal
from multilogger.flows.cells import worker_processes

worker_processes.start_worker(os.getppid())
ended = 0
for _ in range(2):
    try:
        signal.raise_signal(signal.SIGTERM)
    except SystemExit as left:
        ended += left.code
os._exit(ended)
"""


def test_a_worker_that_is_told_twice_to_end_unwinds_once() -> None:
    assert ended(AS_WORKER).returncode == TERMINATED


def test_our_warnings_are_lines_and_those_of_libraries_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: heard.append(str(message)))
    warn_in_lines()
    warnings.showwarning(UnseenValues("rows: a value of\nno training row"), UnseenValues, "policy.py", 3)
    warnings.showwarning(UserWarning("of a library"), UserWarning, "library.py", 5)
    assert heard == ["of a library"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: rows: a value of")
