import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.servers import child_process
from multilogger.flows.servers.child_process import (
    PROGRAMS,
    ChildProcess,
    deferring_endings,
    lock_path,
    stop_orphans,
    until_stopped,
)
from multilogger.flows.terminal.errors import explain
from multilogger.tasks.engine.locks import FileLock, is_held
from multilogger.tasks.engine.store import Store
from tests.waiting import wait_for

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
WITH_CHILD = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "print(child.pid, flush=True); time.sleep(60)"
)


def alive(pid: int) -> bool:
    """Does the process run? One that ended and waits to be collected does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(shown.stdout.strip()) and not shown.stdout.strip().startswith("Z")


def ends(pid: int) -> bool:
    """Whether a process ends in time: a signal to a group reaches its members one by one."""
    return wait_for(lambda: not alive(pid), pause=0.02, seconds=50)  # it would sleep for longer


def first_number(path: Path) -> int:
    return int(wait_for(lambda: path.read_text().split(), pause=0.02)[0])


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orphans are children of the test here, which stay as zombies until it collects them."""
    monkeypatch.setattr(child_process, "GRACE_SECONDS", 2.0)


def test_only_orphans_are_stopped(tmp_path: Path) -> None:
    """Three processes with a server's lock: an orphan, one whose parent lives, one that is no server."""
    store = Store(tmp_path).open()
    marker = PROGRAMS["ephemeral"]
    orphan, watched, stranger = (subprocess.Popen([*SLEEP, name]) for name in (marker, marker, "other"))
    try:
        for process in (orphan, watched, stranger):
            lock_path(store, "ephemeral", process.pid).touch()
        with FileLock(lock_path(store, "ephemeral", watched.pid)):
            stop_orphans(store)
            assert orphan.wait(50) != 0
            assert watched.poll() is None
            assert stranger.poll() is None
        assert [path.name for path in store.locks.iterdir()] == [f"server-ephemeral-{watched.pid}"]
    finally:
        for process in (orphan, watched, stranger):
            process.kill()
            process.wait()


@pytest.mark.parametrize("deaf", ["", DEAF])
def test_orphans_end_with_their_children(tmp_path: Path, deaf: str) -> None:
    store = Store(tmp_path).open()
    with (tmp_path / "out").open("w") as output:
        leader = subprocess.Popen(
            [sys.executable, "-c", deaf + WITH_CHILD, PROGRAMS["mlflow"]],
            stdout=output,
            start_new_session=True,
        )
    child = first_number(tmp_path / "out")
    lock_path(store, "mlflow", leader.pid).touch()
    stop_orphans(store)
    assert leader.wait(50) == (-signal.SIGKILL if deaf else -signal.SIGTERM)
    assert ends(child)
    assert not list(store.locks.iterdir())


@pytest.mark.parametrize("deaf", ["", DEAF])
def test_the_whole_group_ends_with_the_block(tmp_path: Path, deaf: str) -> None:
    store = Store(tmp_path).open()
    log = tmp_path / "log"
    with ChildProcess(store, "mlflow", [sys.executable, "-c", deaf + WITH_CHILD], log) as started:
        child = first_number(log)
        assert is_held(lock_path(store, "mlflow", started.process.pid))
        assert alive(child)
        started.check_alive()
    assert not alive(started.process.pid)
    assert ends(child)
    assert not list(store.locks.iterdir())
    with pytest.raises(BadInput, match=f"mlflow stopped with exit code .*{log} says why"):
        started.check_alive()


@pytest.mark.parametrize(
    ("said", "free"),
    [("sqlite3.OperationalError: database or disk is full", 10**9), ("", 0)],
    ids=["its log says so", "its log has no room either"],
)
def test_a_server_that_ends_on_a_full_disk_is_told_as_a_full_disk(
    said: str, free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path).open()
    command = [sys.executable, "-c", f"import sys; print({said!r}); sys.exit(3)"]
    with ChildProcess(store, "ephemeral", command, tmp_path / "log") as started:
        started.process.wait(50)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        with pytest.raises(OSError, match="No space left on device") as full:
            started.check_alive()
    line, code = explain(full.value)
    assert code == 2
    assert line.startswith("the disk is full: free some space, or move the store with MULTILOGGER_HOME (")
    assert str(tmp_path) in line


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_endings_wait_for_the_end_of_a_block(
    ending: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    done = []
    with until_stopped():
        with deferring_endings():
            os.kill(os.getpid(), ending)
            done.append("in the block")
        done.append("after it")
    assert done == ["in the block"]
    assert capsys.readouterr().out == "Stopped\n"
