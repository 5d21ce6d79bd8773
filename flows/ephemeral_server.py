"""Prefect's ephemeral server, for those who run none: started, watched and cleaned up after.

A server whose parent was killed by SIGKILL lives on and keeps a core half busy; its lock tells the next
start, which stops it.
"""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from importlib.metadata import version
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.tasks.engine.locks import FileLock, is_held
from multilogger.tasks.engine.store import Store

POLL_SECONDS = 0.01
PROGRAM = "prefect.server.api.server:create_app"


@contextmanager
def ephemeral_server(store: Store) -> Iterator[None]:
    """A Prefect server for the enclosed flows; Prefect's client finds it by itself."""
    from prefect.server.api.server import SubprocessASGIServer

    stop_orphans(store)
    _migrate_once(store)
    server = SubprocessASGIServer()
    starting = _Start(server.start)
    while server.server_process is None and starting.is_alive():
        time.sleep(POLL_SECONDS)
    number = server.server_process.pid if server.server_process else 0
    lock = store.locks / f"server-{number}"
    with FileLock(lock):  # held from the first moment: the start takes seconds, and may be killed
        try:
            starting.finish()
            yield
        finally:
            lock.unlink(missing_ok=True)


class _Start(threading.Thread):
    """Starts a server in the background and keeps its complaint."""

    def __init__(self, start: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._start_server = start
        self._context = copy_context()  # Prefect keeps its settings there
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._context.run(self._start_server)
        except Exception as error:
            self._error = error

    def finish(self) -> None:
        """Wait until the server answers."""
        self.join()
        if self._error is not None:
            raise BadInput(
                f"Prefect's server did not start ({self._error}); run again, or with --debug for its log"
            ) from self._error


def stop_orphans(store: Store) -> None:
    """Stop the servers of processes that were killed."""
    for lock in store.locks.glob("server-*"):
        if is_held(lock):
            continue
        pid = int(lock.name.removeprefix("server-"))
        shown = subprocess.run(
            ["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        if PROGRAM in shown.stdout:  # not another program that was given the same number
            os.kill(pid, signal.SIGTERM)
        lock.unlink(missing_ok=True)


def _migrate_once(store: Store) -> None:
    """Bring Prefect's database to this version under a lock: two processes on a fresh home race otherwise."""
    from prefect.server.database import provide_database_interface

    home = Path(os.environ["PREFECT_HOME"])
    done = home / f"migrated-{version('prefect')}"
    with FileLock(store.locks / "prefect-setup"):
        _check_database(home / "prefect.db")
        if not done.exists() or not (home / "prefect.db").exists():
            asyncio.run(provide_database_interface().create_db())
            done.touch()


def _check_database(path: Path) -> None:
    """Say at once what Prefect would wait two minutes for."""
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        raise BadInput(
            f"Prefect's database {path} cannot be read ({error}); move it away and run again: "
            "it holds the history of runs, not their results"
        ) from error
