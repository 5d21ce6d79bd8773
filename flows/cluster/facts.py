"""What a worker, or this process, says of itself: versions, servers that it reaches, store."""

import importlib.metadata
import platform
import shutil
import socket
from dataclasses import dataclass
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.flows.servers.local_server import complaint
from multilogger.tasks.engine.store import Store

NUMERICS = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")
COMPARED = ("multilogger", *NUMERICS, "mlflow", "prefect", "distributed")
"""Packages whose versions must be the same everywhere: results are compared by hash."""


@dataclass(frozen=True)
class Facts:
    """One process of a cluster; `prefect` and `mlflow` say why a server cannot be reached, None if it can."""

    host: str
    versions: dict[str, str]
    threads: int
    store: str
    identity: str
    free_bytes: int
    unusable: str | None
    prefect: str | None
    mlflow: str | None


def facts(prefect: str | None = None, dask_worker: Any = None) -> Facts:
    """Of this process; `prefect` is the server that it is to reach, Dask passes `dask_worker` itself."""
    store = Store.current()
    try:
        unusable, identity = None, store.open().identity
        free = shutil.disk_usage(store.root).free
    except BadInput as error:
        unusable, identity, free = str(error), "", 0
    return Facts(
        host=socket.gethostname(),
        versions={"python": platform.python_version()} | {name: _version(name) for name in COMPARED},
        threads=1 if dask_worker is None else int(dask_worker.state.nthreads),
        store=str(store.root),
        identity=identity,
        free_bytes=free,
        unusable=unusable,
        prefect=None if prefect is None else complaint(prefect),
        mlflow=complaint(store.tracking_uri) if store.tracks_by_server else None,
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
