"""A Prefect server for those who run none: started with the command, ended with it."""

import atexit
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from multilogger.flows.servers.child_process import stop_orphans
from multilogger.flows.servers.local_server import LOOPBACK, LocalServer, wait_until_up
from multilogger.flows.servers.prefect_database import migrate_once
from multilogger.flows.servers.running_servers import using_server
from multilogger.tasks.engine.store import Store

PROGRAM = "prefect.server.api.server:create_app"
EPHEMERAL = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
MEANWHILE = ("prefect.flows", "mlflow")  # loading them takes as long as the server does


@contextmanager
def ephemeral_server(store: Store, meanwhile: Callable[[], object]) -> Iterator[None]:
    """A server for the enclosed flows; `meanwhile` is done while it starts.

    It outlives the block and ends with this process: Prefect sends its last records when the process ends.
    """
    stop_orphans(store)
    migrate_once(store)
    server = _start(store)
    atexit.register(server.end)  # the last to be called: Prefect is imported later
    with using_server(f"{server.address}/api"):
        meanwhile()
        for name in MEANWHILE:
            import_module(name)
        for _ in wait_until_up([server]):
            pass
        yield


def _start(store: Store) -> LocalServer:
    """Prefect's own ephemeral server, in a session of its own.

    Ctrl-C on a terminal reaches every process of its foreground group; the server has to outlive the flow
    that is being ended, or the flow would wait for it in vain.
    """
    port = _free_port()
    program = ["uvicorn", "--factory", PROGRAM, "--host", LOOPBACK, "--port", str(port)]
    command = [sys.executable, "-m", *program, "--log-level", "error", "--lifespan", "on"]
    address = f"http://{LOOPBACK}:{port}"
    return LocalServer(store, "ephemeral", command, address, "/api/health", {**os.environ, **EPHEMERAL})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
