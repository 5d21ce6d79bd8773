"""Empty databases of Prefect and MLflow, kept beside the installed packages: to make one takes seconds.

There is one for each version of a library, made with the first store. Later stores begin with a copy of it.
"""

import contextlib
import sqlite3
import sys
from importlib.metadata import version
from pathlib import Path

from multilogger.tasks.engine.disk_room import no_room, says_full

FOLDER = Path(sys.prefix) / "share" / "multilogger"


def keep_copy(library: str, database: Path) -> None:
    """Keep a database that was just made; where nothing can be written nothing is kept."""
    with contextlib.suppress(OSError, sqlite3.Error):
        FOLDER.mkdir(parents=True, exist_ok=True)
        _copy(database, _kept(library))


def copy_kept(library: str, database: Path) -> bool:
    """Put the kept database of a library in its place; False if there is none, or none that is whole.

    A full disk is no fault of the kept one.
    """
    kept = _kept(library)
    try:
        if kept.is_file():
            _copy(kept, database)
            return True
    except sqlite3.Error as error:
        if says_full(str(error)):
            raise no_room(database) from error
        with contextlib.suppress(OSError):
            kept.unlink()
    return False


def _kept(library: str) -> Path:
    return FOLDER / f"{library}-{version(library)}.db"


def _copy(source: Path, target: Path) -> None:
    """By SQLite itself, which also takes what still stands in a journal; whole, or not at all."""
    draft = target.with_suffix(".copy")
    draft.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as old,
            contextlib.closing(sqlite3.connect(draft)) as new,
        ):
            old.backup(new)
            new.execute(
                "pragma journal_mode=delete"
            )  # one file, which can be read where nothing can be written
            if (found := new.execute("pragma quick_check").fetchone()) != ("ok",):
                raise sqlite3.DatabaseError(str(found))
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
