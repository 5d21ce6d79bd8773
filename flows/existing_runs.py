"""MLflow's runs of this store, for commands that only read."""

import os
from typing import TYPE_CHECKING

from multilogger.components.errors import BadInput
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

if TYPE_CHECKING:
    from multilogger.tasks.engine.tracking import Tracker


def existing_runs() -> "Tracker":
    """The tracker of a store that has runs: no database is made for somebody who only wants to look."""
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    store = Store.current()
    if not os.environ.get("MLFLOW_TRACKING_URI") and not (store.root / "mlflow.db").exists():
        raise BadInput(
            f"the store at {store.root} has no runs yet; run 'multilogger learn' first, "
            f"or name another store with {ROOT_VARIABLE}"
        )
    from multilogger.tasks.engine.tracking import Tracker

    return Tracker(store.open())
