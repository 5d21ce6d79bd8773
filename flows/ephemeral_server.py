"""Prefect's ephemeral server, for those who run none: started, watched and cleaned up after."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from typing import TYPE_CHECKING

from multilogger.components.errors import BadInput
from multilogger.flows.child_process import lock_path, stop_orphans
from multilogger.flows.prefect_database import migrate_once
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store

if TYPE_CHECKING:
    from prefect.server.api.server import SubprocessASGIServer

POLL_SECONDS = 0.01
PROGRAM = "prefect.server.api.server:create_app"
EPHEMERAL = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
MEANWHILE = ("mlflow", "torch")  # every flow needs them, and loading them takes as long as the server does


@contextmanager
def ephemeral_server(store: Store) -> Iterator[str]:
    """A Prefect server for the enclosed flows, by its address."""
    stop_orphans(store)
    migrate_once(store)
    server = _server_class()()
    starting = _Start(server.start)
    while server.server_process is None and starting.is_alive():
        time.sleep(POLL_SECONDS)
    number = server.server_process.pid if server.server_process else 0
    lock = lock_path(store, "ephemeral", number)
    with FileLock(lock):  # held from the first moment: the start takes seconds, and may be killed
        try:
            for name in MEANWHILE:
                import_module(name)
            starting.finish()
            yield server.api_url
        finally:
            lock.unlink(missing_ok=True)


def _server_class() -> "type[SubprocessASGIServer]":
    """Prefect's own ephemeral server, in a session of its own.

    Ctrl-C on a terminal reaches every process of its foreground group; the server has to outlive the flow
    that is being ended, or the flow would wait for it in vain.
    """
    import prefect
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import get_current_settings

    class OwnSession(SubprocessASGIServer):
        def _run_uvicorn_command(self) -> "subprocess.Popen[bytes]":
            program = ["uvicorn", "--app-dir", str(prefect.__module_path__.parent), "--factory", PROGRAM]
            address = ["--host", "127.0.0.1", "--port", str(self.port)]
            settings = get_current_settings().to_environment_variables(exclude_unset=True)
            return subprocess.Popen(
                [sys.executable, "-m", *program, *address, "--log-level", "error", "--lifespan", "on"],
                env={**os.environ, **EPHEMERAL, **settings},
                start_new_session=True,
            )

    return OwnSession


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
