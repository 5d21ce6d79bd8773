"""A server on loopback, started for a command that stays in the foreground."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from multilogger.components.errors import BadInput
from multilogger.flows.servers.child_process import ChildProcess
from multilogger.flows.servers.running_servers import API_VARIABLE, answers
from multilogger.tasks.engine.store import Store

START_SECONDS = 120.0
POLL_SECONDS = 0.2
LOOPBACK = "127.0.0.1"


class LocalServer(ChildProcess):
    """A server process and where it answers; its log is in the store."""

    def __init__(
        self,
        store: Store,
        kind: str,
        command: Sequence[str],
        address: str,
        health: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(store, kind, command, store.root / f"{kind}-server.log", environment)
        self.address = address
        self._health = health

    def answers(self) -> bool:
        """Is it up? Says so if it ended instead."""
        self.check_alive()
        return answers(f"{self.address}{self._health}")


def start_mlflow(store: Store, port: int) -> LocalServer:
    """`mlflow server` on the store's runs."""
    address = f"http://{LOOPBACK}:{port}"
    command = [
        sys.executable, "-m", "mlflow", "server",
        "--backend-store-uri", store.tracking_uri,
        "--default-artifact-root", store.mlflow_artifacts.as_uri(),
        "--host", LOOPBACK, "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    return LocalServer(store, "mlflow", command, address, "/health")


def start_prefect(store: Store, port: int) -> LocalServer:
    """`prefect server start` on the database in PREFECT_HOME."""
    address = f"http://{LOOPBACK}:{port}"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", LOOPBACK, "--port", str(port)]
    environment = {name: value for name, value in os.environ.items() if name != API_VARIABLE}
    environment.setdefault("PREFECT_SERVER_UI_API_URL", f"{address}/api")  # its pages look at 4200 otherwise
    return LocalServer(store, "prefect", command, address, "/api/health", environment)


def check_port(port: int, option: str) -> None:
    """Refuse a port that somebody listens on."""
    with socket.socket() as probe:
        if probe.connect_ex((LOOPBACK, port)) == 0:
            raise BadInput(f"port {port} is in use; choose another with {option}")


def wait_until_up(servers: Sequence[LocalServer]) -> Iterator[LocalServer]:
    """The servers in the order in which they come up."""
    waiting = list(servers)
    deadline = time.monotonic() + START_SECONDS
    while waiting:
        for server in [server for server in waiting if server.answers()]:
            waiting.remove(server)
            yield server
        if waiting and time.monotonic() > deadline:
            late = waiting[0]
            raise BadInput(
                f"{late.kind} did not answer at {late.address} within {START_SECONDS:.0f} s; "
                f"{late.log} may say why; try again"
            )
        time.sleep(POLL_SECONDS if waiting else 0)


def watch(servers: Sequence[LocalServer]) -> None:
    """Stay until one of the servers ends, and say which."""
    while True:
        time.sleep(POLL_SECONDS)
        for server in servers:
            server.check_alive()
