"""Prefect's database in its home: checked, and brought to this version once."""

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from multilogger.components.errors import BadInput, first_line
from multilogger.tasks.engine.disk_room import no_room, says_full
from multilogger.tasks.engine.empty_databases import copy_kept, keep_copy
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store

MIGRATE = (
    "import asyncio; from prefect.server.database import provide_database_interface; "
    "asyncio.run(provide_database_interface().create_db())"
)


def migrate_once(store: Store) -> None:
    """Bring the database to this version.

    In a process of its own: Prefect takes its settings when it is imported, and here the server that its
    threads are to use has no address yet.
    """
    with setting_up(store) as needed:
        if needed and (_database().exists() or not copy_kept("prefect", _database())):
            fresh = not _database().exists()
            done = subprocess.run(
                [sys.executable, "-c", MIGRATE], capture_output=True, text=True, check=False
            )
            if done.returncode and says_full(done.stderr):
                raise no_room(_database())
            if done.returncode:
                raise BadInput(
                    f"Prefect could not set up its database {_database()} ({_reason(done.stderr)}); "
                    "mend its permissions, or move it away and run again"
                )
            if fresh:
                keep_copy("prefect", _database())


def _reason(shown: str) -> str:
    """The line of a traceback that says what went wrong; SQLAlchemy puts a link behind it."""
    lines = [line for line in shown.splitlines() if re.match(r"[\w.]+(Error|Exception|Exit)\b", line)]
    return (lines or ["it does not say why"])[-1][:200]


@contextmanager
def setting_up(store: Store) -> Iterator[bool]:
    """Nobody else migrates during the block, which must do it if told so.

    Two processes on a fresh home race otherwise.
    """
    with FileLock(store.locks / "prefect-setup"):
        _check(_database())
        yield not is_migrated()
        _mark().touch()


def is_migrated() -> bool:
    """Whether there is a database that this version of Prefect has brought up to date."""
    return all(os.path.exists(path) for path in (_mark(), _database()))  # noqa: PTH110 - also of a bad path


def _database() -> Path:
    return _home() / "prefect.db"


def _mark() -> Path:
    return _home() / f"migrated-{version('prefect')}"


def _home() -> Path:
    return Path(os.environ.get("PREFECT_HOME") or Store.current().prefect_home)


def _check(path: Path) -> None:
    """Say at once what Prefect would wait two minutes for."""
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        raise BadInput(
            f"Prefect's database {path} cannot be read ({first_line(error)}); move it away and run again: "
            "it holds the history of runs, not their results"
        ) from error
