"""Around a flow that a person starts: quiet libraries, a Prefect server, progress, and the last lines.

Those who run no server have one that is started with the command and ended with it.
"""

import atexit
import logging
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from multilogger.components.errors import BadInput
from multilogger.flows.servers.child_process import stop_orphans
from multilogger.flows.servers.local_server import (
    API_VARIABLE,
    LOOPBACK,
    LocalServer,
    complaint,
    running_servers,
    using_server,
    wait_until_up,
)
from multilogger.flows.servers.prefect_database import is_migrated, migrate_once
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import say, watched_by
from multilogger.tasks.engine.store import Store

if TYPE_CHECKING:
    from multilogger.tasks.engine.runner import Outcome

RECORDING_SECONDS = 1.5  # the ephemeral server writes its last task records within this time


@contextmanager
def flow_session(debug: bool, check: Callable[[], object] = lambda: None) -> Iterator[Terminal]:
    """Open the store and show what the enclosed flow does; `check` says what is wrong before it begins."""
    if not is_migrated():
        check()  # before a store is made, and half a minute spent on its databases
    store = Store.current().open()
    if not debug:
        quieten()
    with Terminal() as terminal, watched_by(terminal):
        if server := running_server(store):
            check()
            with using_server(server):
                yield terminal
        else:
            with ephemeral_server(store, check):
                yield terminal
                time.sleep(RECORDING_SECONDS)


def running_server(store: Store) -> str | None:
    """The Prefect server that the environment names, else that of `multilogger up` on this store."""
    if server := os.environ.get(API_VARIABLE):
        if reason := complaint(server):
            raise BadInput(
                f"no Prefect server answers at {API_VARIABLE}={server} ({reason}); start it, or unset the "
                "variable to use a server of our own"
            )
        return server
    up = running_servers(store)
    if up is None or up.prefect is None:
        return None
    if reason := complaint(up.prefect):
        say(
            f"the Prefect server of 'multilogger up' at {up.prefect} does not answer ({reason}): "
            "going on with one of our own"
        )
        return None
    return up.prefect


def quieten() -> None:
    """Keep Prefect's and MLflow's log lines off the terminal; Prefect's own pages still have theirs."""
    logging.raiseExceptions = False  # else a record that cannot be kept is complained of amid our lines
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "CRITICAL")  # its database errors come with tracebacks


PROGRAM = "prefect.server.api.server:create_app"
EPHEMERAL = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
STARTS = 3  # of a server that ends at once
MEANWHILE = ("prefect.flows", "mlflow")  # loading them takes as long as the server does


@contextmanager
def ephemeral_server(store: Store, meanwhile: Callable[[], object]) -> Iterator[None]:
    """A server for the enclosed flows; `meanwhile` is done while it starts.

    It outlives the block and ends with this process: Prefect sends its last records when the process ends.
    """
    stop_orphans(store)
    migrate_once(store)
    port = _free_port()
    server = _start(store, port)
    with using_server(f"{server.address}/api"):
        meanwhile()
        for name in MEANWHILE:
            import_module(name)
        _wait(store, server, port)
        yield


def _wait(store: Store, server: LocalServer, port: int) -> None:
    """Until it answers; one that ends at its start is started again.

    Servers of several commands share one SQLite file, and each writes to it when it starts: on a busy machine
    one of many may wait too long for its turn.
    """
    for left in reversed(range(STARTS)):
        try:
            for _ in wait_until_up([server]):
                return
        except BadInput:
            if not left or server.process.poll() is None:
                raise
            atexit.unregister(server.end)
            server.end()
            server = _start(store, port)


def _start(store: Store, port: int) -> LocalServer:
    """Prefect's own ephemeral server, in a session of its own.

    Ctrl-C on a terminal reaches every process of its foreground group; the server has to outlive the flow
    that is being ended, or the flow would wait for it in vain.
    """
    program = ["uvicorn", "--factory", PROGRAM, "--host", LOOPBACK, "--port", str(port)]
    command = [sys.executable, "-m", *program, "--log-level", "error", "--lifespan", "on"]
    address = f"http://{LOOPBACK}:{port}"
    server = LocalServer(store, "ephemeral", command, address, "/api/health", {**os.environ, **EPHEMERAL})
    atexit.register(server.end)
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def how_much(started: float, noun: str, computed: int, reused: int) -> None:
    """What was computed and what was there already, since `started` on the monotonic clock."""
    made = f"{computed} {noun}" + ("" if computed == 1 else "s")
    typer.echo(f"Computed    {made}, {reused} from the cache, in {time.monotonic() - started:.0f} s")


def how_many_stages(started: float, outcomes: "Iterable[Outcome]") -> None:
    """The same of stages: one restored from MLflow was there already, one that was skipped does not count."""
    statuses = [outcome.status.value for outcome in outcomes]
    computed = statuses.count("computed")
    how_much(started, "stage", computed, len(statuses) - computed - statuses.count("skipped"))


def where_to_look(run_id: str) -> None:
    """The store, the MLflow run, and how to see it."""
    up = running_servers(Store.current())
    typer.echo(f"Store       {from_here(Store.current().root)}")
    typer.echo(f"MLflow run  {run_id}")
    typer.echo(f"Look at it  {up.mlflow if up and up.mlflow else f'{as_typed()} ui'}")


def as_typed() -> str:
    """The command as this shell can type it again."""
    found = Path(sys.argv[0])
    on_path = shutil.which("multilogger")
    if on_path is not None and Path(on_path).resolve() == found.resolve():
        return "multilogger"
    return from_here(found)


def from_here(path: Path) -> str:
    """A path below the current folder without that folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
