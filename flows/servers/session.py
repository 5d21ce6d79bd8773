"""Around a flow that a person starts: quiet libraries, a Prefect server, progress on the terminal."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from multilogger.components.errors import BadInput
from multilogger.flows.servers.prefect_database import is_migrated
from multilogger.flows.servers.running_servers import API_VARIABLE, complaint, running_servers, using_server
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import say, watched_by
from multilogger.tasks.engine.store import Store

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
            from multilogger.flows.servers.ephemeral_server import ephemeral_server

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
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
