"""MLflow's own pages on this store."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

START_SECONDS = 90.0


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
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise BadInput(f"port {port} is in use; choose another with --port")
    sys.stdout.write("Starting MLflow, this takes about ten seconds\n")
    sys.stdout.flush()
    log_path = store.root / "mlflow-server.log"
    with log_path.open("w") as log:
        server = subprocess.Popen(
            _command(store, port), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait_until_up(server, port, log_path)
        sys.stdout.write(
            f"MLflow is at http://127.0.0.1:{port} for the store {store.root} (Ctrl-C stops it)\n"
        )
        sys.stdout.flush()
        server.wait()
    except KeyboardInterrupt:
        sys.stdout.write("Stopped\n")
    finally:
        _end(server)


def _command(store: Store, port: int) -> list[str]:
    return [
        sys.executable, "-m", "mlflow", "server",
        "--backend-store-uri", store.tracking_uri,
        "--default-artifact-root", store.mlflow_artifacts.as_uri(),
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
    ]  # fmt: skip


def _wait_until_up(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise BadInput(f"MLflow stopped with exit code {server.returncode}; {log} says why")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise BadInput(f"MLflow did not answer on port {port} within {START_SECONDS:.0f} s; try again")


def _end(server: subprocess.Popen[bytes]) -> None:
    """Stop the server and its workers."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
