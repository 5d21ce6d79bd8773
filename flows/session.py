"""Around a flow that a person starts: quiet libraries, a ready Prefect database, progress on the terminal."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from multilogger.flows.terminal import Terminal
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.progress import watched_by
from multilogger.tasks.engine.store import Store

RECORDING_SECONDS = 0.5  # the ephemeral server writes its last task records within this time


@contextmanager
def flow_session(debug: bool) -> Iterator[Terminal]:
    """Open the store and show what the enclosed flow does."""
    store = Store.current().open()
    os.environ.setdefault("MULTILOGGER_HOME", str(store.root))
    if not debug:
        _quieten()
    with Terminal() as terminal, watched_by(terminal):
        ephemeral = not os.environ.get("PREFECT_API_URL")
        if ephemeral:
            _migrate_once(store)
        yield terminal
        if ephemeral:
            time.sleep(RECORDING_SECONDS)


def _quieten() -> None:
    """Keep Prefect's and MLflow's log lines off the terminal; Prefect's own pages still have theirs."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")


def _migrate_once(store: Store) -> None:
    """Bring Prefect's database to this version under a lock: two processes on a fresh home race otherwise."""
    import asyncio
    from importlib.metadata import version

    done = store.locks / f"prefect-{version('prefect')}-ready"
    with FileLock(store.locks / "prefect-setup"):
        if done.exists():
            return
        from prefect.server.database import provide_database_interface

        asyncio.run(provide_database_interface().create_db())
        done.touch()
