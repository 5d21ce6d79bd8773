"""MLflow's own pages on this store."""

import os

from multilogger.components.errors import BadInput
from multilogger.flows.servers.child_process import tell, until_stopped
from multilogger.flows.servers.local_server import check_port, start_mlflow, wait_until_up, watch
from multilogger.flows.servers.running_servers import running_servers
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store


def serve_mlflow(port: int) -> None:
    """Run `mlflow server` on loopback until Ctrl-C."""
    store = Store.current()
    if store.tracks_by_server:
        raise BadInput(f"runs go to {store.tracking_uri} (MLFLOW_TRACKING_URI); open that address instead")
    if not os.environ.get("MLFLOW_TRACKING_URI") and not (store.root / "mlflow.db").exists():
        raise BadInput(
            f"the store at {store.root} has no runs yet; run 'multilogger prepare' first, "
            f"or name another store with {ROOT_VARIABLE}"
        )
    up = running_servers(store)
    if up is not None and up.mlflow is not None:
        raise BadInput(f"MLflow is at {up.mlflow} already: 'multilogger up' runs on this store")
    check_port(port, "--port")
    tell("Starting MLflow, this takes about ten seconds")
    with until_stopped(), start_mlflow(store.open(), port) as server:
        for _ in wait_until_up([server]):
            tell(f"MLflow is at {server.address} for the store {store.root} (Ctrl-C stops it)")
        watch([server])
