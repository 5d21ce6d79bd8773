"""Around a flow that a person starts: quiet libraries, a Prefect server, progress on the terminal."""

import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from multilogger.components.errors import BadInput
from multilogger.flows.terminal import Terminal
from multilogger.tasks.engine.progress import watched_by
from multilogger.tasks.engine.store import Store

RECORDING_SECONDS = 1.5  # the ephemeral server writes its last task records within this time


@contextmanager
def flow_session(debug: bool) -> Iterator[Terminal]:
    """Open the store and show what the enclosed flow does."""
    store = Store.current().open()
    if not debug:
        _quieten()
    with Terminal() as terminal, watched_by(terminal):
        if server := os.environ.get("PREFECT_API_URL"):
            _check_answers(server)
            yield terminal
        else:
            from multilogger.flows.ephemeral_server import ephemeral_server

            with ephemeral_server(store):
                yield terminal
                time.sleep(RECORDING_SECONDS)


def _quieten() -> None:
    """Keep Prefect's and MLflow's log lines off the terminal; Prefect's own pages still have theirs."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")


def _check_answers(server: str) -> None:
    """Say at once that a Prefect server is down; any answer, even a refusal, is an answer."""
    try:
        urllib.request.urlopen(f"{server.rstrip('/')}/health", timeout=10).close()
    except urllib.error.HTTPError:
        return
    except (OSError, ValueError) as error:
        raise BadInput(
            f"no Prefect server answers at PREFECT_API_URL={server} ({error}); start it, or unset the "
            "variable to use a server of our own"
        ) from error
