"""The servers that later commands find: those of `multilogger up` on this store.

`up` writes their addresses into the store. They are believed only while `up` holds its lock.
"""

import json
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from multilogger.tasks.engine.locks import FileLock, is_held
from multilogger.tasks.engine.store import Store

API_VARIABLE = "PREFECT_API_URL"
ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class RunningServers:
    """What `up` started: Prefect's API and MLflow's pages; None for what runs elsewhere."""

    prefect: str | None
    mlflow: str | None


def up_lock(store: Store) -> FileLock:
    """Held by `up` as long as it lives."""
    return FileLock(store.locks / "up")


def running_servers(store: Store) -> RunningServers | None:
    """The servers of `up`, or None if it does not run on this store."""
    if not is_held(store.locks / "up"):
        return None
    try:
        return RunningServers(**json.loads(_record(store).read_text()))
    except (OSError, ValueError, TypeError):  # still starting
        return None


@contextmanager
def announced(store: Store, servers: RunningServers) -> Iterator[None]:
    """Let other commands find the servers while the block lasts."""
    handle, draft = tempfile.mkstemp(dir=store.root)
    with os.fdopen(handle, "w") as file:
        json.dump(asdict(servers), file)
    Path(draft).replace(_record(store))
    try:
        yield
    finally:
        _record(store).unlink(missing_ok=True)


@contextmanager
def using_server(api: str) -> Iterator[None]:
    """Send the enclosed flows, and the processes that they start, to a Prefect server."""
    before = os.environ.get(API_VARIABLE)
    os.environ[API_VARIABLE] = api  # before the import below: Prefect reads its settings then
    from prefect.settings import PREFECT_API_URL, temporary_settings

    try:
        with temporary_settings({PREFECT_API_URL: api}):
            yield
    finally:
        if before is None:
            os.environ.pop(API_VARIABLE, None)
        else:
            os.environ[API_VARIABLE] = before


def answers(url: str) -> bool:
    """Does a server say that it is well?"""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


def complaint(api: str) -> str | None:
    """Why a Prefect server cannot be reached; any answer, even a refusal, is an answer."""
    try:
        urllib.request.urlopen(f"{api.rstrip('/')}/health", timeout=ANSWER_SECONDS).close()
    except urllib.error.HTTPError:
        return None
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _record(store: Store) -> Path:
    return store.root / "up.json"
