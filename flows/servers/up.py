"""Servers in the foreground: `multilogger up` has Prefect's and MLflow's, `multilogger ui` the latter."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from multilogger.components.errors import BadInput, without_secrets
from multilogger.flows.servers.child_process import stop_orphans, tell, until_stopped
from multilogger.flows.servers.local_server import (
    API_VARIABLE,
    LocalServer,
    RunningServers,
    announced,
    check_port,
    complaint,
    running_servers,
    start_mlflow,
    start_prefect,
    up_lock,
    wait_until_up,
    watch,
)
from multilogger.flows.servers.prefect_database import setting_up
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
            _check_driver(store)
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


def _check_driver(store: Store) -> None:
    from multilogger.tasks.engine.tracking_client import check_driver  # it loads MLflow

    check_driver(store.tracking_uri)


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
        named = without_secrets(os.environ[API_VARIABLE])
        tell(f"Prefect  {named}  ({API_VARIABLE} names it: none was started)")
    if mlflow:
        tell(f"MLflow   {mlflow.address}")
    else:
        named = without_secrets(store.tracking_uri)
        tell(f"MLflow   {named}  (MLFLOW_TRACKING_URI names it: none was started)")
    tell(f"Commands on the store {store.root} use them from now on; Ctrl-C stops them")


def serve_mlflow(port: int) -> None:
    """Run `mlflow server` on loopback until Ctrl-C."""
    store = Store.current()
    if store.tracks_by_server:
        raise BadInput(f"runs go to {store.tracking_uri} (MLFLOW_TRACKING_URI); open that address instead")
    store.check_has_runs("prepare")
    up = running_servers(store)
    if up is not None and up.mlflow is not None:
        raise BadInput(f"MLflow is at {up.mlflow} already: 'multilogger up' runs on this store")
    check_port(port, "--port")
    _check_driver(store)
    tell("Starting MLflow, this takes about ten seconds")
    with until_stopped(), start_mlflow(store.open(), port) as server:
        for _ in wait_until_up([server]):
            tell(f"MLflow is at {server.address} for the store {store.root} (Ctrl-C stops it)")
        watch([server])
