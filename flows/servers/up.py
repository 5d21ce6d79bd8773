"""`multilogger up`: a Prefect server and MLflow's pages on this store, in the foreground."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from multilogger.components.errors import BadInput
from multilogger.flows.servers.child_process import stop_orphans, tell, until_stopped
from multilogger.flows.servers.local_server import (
    LocalServer,
    check_port,
    start_mlflow,
    start_prefect,
    wait_until_up,
    watch,
)
from multilogger.flows.servers.prefect_database import setting_up
from multilogger.flows.servers.running_servers import (
    API_VARIABLE,
    RunningServers,
    announced,
    complaint,
    running_servers,
    up_lock,
)
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.locks import FileLock, held_or
from multilogger.tasks.engine.store import Store


def serve_both(prefect_port: int, mlflow_port: int) -> None:
    """Run both servers until Ctrl-C, SIGTERM or a closed terminal."""
    store = Store.current().open()
    with until_stopped(), held_or(_already(store), up_lock(store)), ExitStack() as children:
        stop_orphans(store)
        own_prefect = not _prefect_elsewhere(prefect_port)
        own_mlflow = not store.tracks_by_server
        if own_prefect:
            check_port(prefect_port, "--prefect-port")
        if own_mlflow:
            check_port(mlflow_port, "--mlflow-port")
        tell("Starting the servers, this takes ten to thirty seconds")
        with Terminal() as terminal, _databases_kept(store, own_prefect):
            started = time.monotonic()
            prefect = children.enter_context(start_prefect(store, prefect_port)) if own_prefect else None
            mlflow = children.enter_context(start_mlflow(store, mlflow_port)) if own_mlflow else None
            servers = [server for server in (prefect, mlflow) if server is not None]
            for server in wait_until_up(servers):
                terminal.done(f"{server.kind} · up in {time.monotonic() - started:.1f} s")
        running = RunningServers(
            prefect=f"{prefect.address}/api" if prefect else None, mlflow=mlflow.address if mlflow else None
        )
        with announced(store, running):
            _say_where(store, prefect, mlflow)
            watch(servers)


@contextmanager
def _databases_kept(store: Store, own_prefect: bool) -> Iterator[None]:
    """Other commands wait while the servers open their databases: fresh ones break under several at once."""
    with FileLock(store.locks / "mlflow-setup"), setting_up(store) if own_prefect else nullcontext():
        yield


def _already(store: Store) -> BadInput:
    """What to say when `up` runs on the store."""
    found = running_servers(store)
    where = f"Prefect at {found.prefect}, MLflow at {found.mlflow}" if found else "its servers are starting"
    return BadInput(f"'multilogger up' runs on the store {store.root} already ({where}); stop it first")


def _prefect_elsewhere(port: int) -> str | None:
    """The server that PREFECT_API_URL names, unless it is the very one that we are about to start."""
    named = os.environ.get(API_VARIABLE)
    if not named or named.rstrip("/") in (f"http://127.0.0.1:{port}/api", f"http://localhost:{port}/api"):
        return None
    if reason := complaint(named):
        raise BadInput(
            f"no Prefect server answers at {API_VARIABLE}={named} ({reason}); unset the variable, "
            "and 'multilogger up' starts a server of its own"
        )
    return named


def _say_where(store: Store, prefect: LocalServer | None, mlflow: LocalServer | None) -> None:
    if prefect:
        tell(f"Prefect  {prefect.address}  (for other tools: export {API_VARIABLE}={prefect.address}/api)")
    else:
        tell(f"Prefect  {os.environ[API_VARIABLE]}  ({API_VARIABLE} names it: none was started)")
    if mlflow:
        tell(f"MLflow   {mlflow.address}")
    else:
        tell(f"MLflow   {store.tracking_uri}  (MLFLOW_TRACKING_URI names it: none was started)")
    tell(f"Commands on the store {store.root} use them from now on; Ctrl-C stops them")
