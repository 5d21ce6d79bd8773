"""What a Dask worker needs before it works for us: our servers, and a store of its own.

The environment of the worker names its store. Passwords travel in the connection, never in a command line.
"""

import os
import signal
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin
from distributed.gc import disable_gc_diagnosis

from multilogger.flows.environment import LOGINS, hide_logins, patient_retries

PLUGIN = "multilogger"
TOKENS = ("PREFECT_API_KEY", "MLFLOW_TRACKING_TOKEN")
PASSED = (*LOGINS, *(name for names in LOGINS.values() for name in names), *TOKENS)
"""What workers take over of the environment of whoever sends them work."""


def environment_to_pass(api: str | None) -> dict[str, str]:
    """The servers of this process, and how it logs in to them; `api` is that of Prefect.

    Workers are asked whether they reach the servers before they work. One that does not answer later may be
    on its way back, and they wait for it.
    """
    hide_logins()
    passed = {name: os.environ[name] for name in PASSED if os.environ.get(name)} | patient_retries()
    return passed if api is None else passed | {"PREFECT_API_URL": api}


class WorkerSetUp(WorkerPlugin):  # type: ignore[misc]
    """Called once in every worker, also in one that comes later or is started anew."""

    def __init__(self, environment: dict[str, str], own: bool) -> None:
        self._environment = environment
        self._own = own

    def setup(self, worker: Any) -> None:
        """Before anything of Prefect or MLflow is loaded."""
        os.environ.update(self._environment)
        if self._own:  # Ctrl-C reaches every process of a terminal: the client tells us when to end
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            disable_gc_diagnosis(force=True)  # it complains of exceptions that come while it looks
