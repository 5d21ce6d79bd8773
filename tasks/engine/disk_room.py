"""Whether a disk is full, also where a library or a server says so in words of its own."""

import errno
import os
import shutil
from pathlib import Path

LEAST_ROOM = 100_000  # bytes: less than a page of SQLite's log
WORDS = ("database or disk is full", os.strerror(errno.ENOSPC))


def says_full(text: str) -> bool:
    """Whether a library complains of a full disk."""
    return any(words in text for words in WORDS)


def is_full(folder: Path) -> bool:
    """Whether there is no room left: a server that writes there then fails in words of its own."""
    try:
        return shutil.disk_usage(folder).free < LEAST_ROOM
    except OSError:
        return False


def no_room(place: Path) -> OSError:
    """The error of the file system itself."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
