"""Servers on loopback: started for a command that stays in the foreground, and found by later commands.

`multilogger up` writes the addresses of its servers into the store. They are believed only while it holds its
lock.
"""

import json
import os
import re
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from multilogger.components.errors import BadInput, without_secrets
from multilogger.components.json_text import parsed_json
from multilogger.flows.servers.child_process import ChildProcess
from multilogger.tasks.engine.locks import FileLock, is_held
from multilogger.tasks.engine.store import Store

API_VARIABLE = "PREFECT_API_URL"
ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class RunningServers:
    """What `up` started: Prefect's API and MLflow's pages; None for what runs elsewhere."""

    prefect: str | None
    mlflow: str | None


def up_lock(store: Store) -> FileLock:
    """Held by `up` as long as it lives."""
    return FileLock(store.locks / "up")


def running_servers(store: Store) -> RunningServers | None:
    """The servers of `up`, or None if it does not run on this store."""
    if not is_held(store.locks / "up"):
        return None
    try:
        return RunningServers(**parsed_json(_record(store).read_text()))
    except (OSError, ValueError, TypeError):  # still starting
        return None


@contextmanager
def announced(store: Store, servers: RunningServers) -> Iterator[None]:
    """Let other commands find the servers while the block lasts."""
    handle, draft = tempfile.mkstemp(dir=store.root)
    with os.fdopen(handle, "w") as file:
        json.dump(asdict(servers), file)
    Path(draft).replace(_record(store))
    try:
        yield
    finally:
        _record(store).unlink(missing_ok=True)


@contextmanager
def using_server(api: str) -> Iterator[None]:
    """Send the enclosed flows, and the processes that they start, to a Prefect server."""
    before = os.environ.get(API_VARIABLE)
    os.environ[API_VARIABLE] = api  # before the import below: Prefect reads its settings then
    from prefect.settings import PREFECT_API_URL, temporary_settings

    try:
        with temporary_settings({PREFECT_API_URL: api}):
            yield
    finally:
        if before is None:
            os.environ.pop(API_VARIABLE, None)
        else:
            os.environ[API_VARIABLE] = before


def answers(url: str) -> bool:
    """Does a server say that it is well?"""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


def complaint(api: str) -> str | None:
    """Why a Prefect server cannot be reached; any answer, even a refusal, is an answer."""
    try:
        address = re.sub("://[^/]*@", "://", api.rstrip("/"))  # urllib takes a login for a part of the host
        urllib.request.urlopen(f"{address}/health", timeout=ANSWER_SECONDS).close()
    except urllib.error.HTTPError:
        return None
    except (OSError, ValueError) as error:
        return without_secrets(str(error))
    return None


def _record(store: Store) -> Path:
    return store.root / "up.json"


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
        "--default-artifact-root", store.mlflow_artifacts.as_uri(),
        "--host", LOOPBACK, "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    # By the environment: everybody on the machine can read a command line.
    environment = {**os.environ, "MLFLOW_BACKEND_STORE_URI": store.tracking_uri}
    return LocalServer(store, "mlflow", command, address, "/health", environment)


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
