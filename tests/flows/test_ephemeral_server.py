import subprocess
import sys
from pathlib import Path

from multilogger.flows.ephemeral_server import PROGRAM, stop_orphans
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_only_servers_of_killed_processes_are_stopped(tmp_path: Path) -> None:
    """Three processes with a server's lock: an orphan, one whose parent lives, one that is no server."""
    store = Store(tmp_path).open()
    orphan, watched, stranger = (subprocess.Popen([*SLEEP, name]) for name in (PROGRAM, PROGRAM, "other"))
    try:
        for process in (orphan, watched, stranger):
            (store.locks / f"server-{process.pid}").touch()
        with FileLock(store.locks / f"server-{watched.pid}"):
            stop_orphans(store)
            assert orphan.wait(10) != 0
            assert watched.poll() is None
            assert stranger.poll() is None
        assert [path.name for path in store.locks.iterdir()] == [f"server-{watched.pid}"]
    finally:
        for process in (orphan, watched, stranger):
            process.kill()
            process.wait()
