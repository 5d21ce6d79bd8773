"""Compressed files of a log, counted before they are read: few bytes can unpack to many."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multilogger.components.unpacking import (
    TooLong,
    check_limit,
    crossed_here,
    crossed_in,
    is_packed,
    most_unpacked,
)

MOST_UNPACKED = 100  # bytes of text for one of a compressed log: logs have 3 to 30, of few features more


def check_unpacked(files: Sequence[str | Path], system: Any, max_bytes: int | None) -> None:
    """Refuse a compressed file that unpacks to more than `max_bytes`; by default what its size allows."""
    from pyarrow import fs

    check_limit(max_bytes)
    local = isinstance(system, fs.LocalFileSystem)
    for file in (str(one) for one in files if is_packed(one)):
        size = system.get_file_info(file).size or 0
        if local and not size:
            continue
        most = most_unpacked(size, MOST_UNPACKED) if max_bytes is None else max_bytes
        found = crossed_here(Path(file), most) if local else crossed_in(system, file, most)
        if found is not None:
            raise TooLong(
                f"{Path(file).name} unpacks to more than {found}, {_why(max_bytes)}; give a smaller file, or "
                "allow N bytes with --max-bytes N (in Python max_bytes=N)"
            )


def _why(max_bytes: int | None) -> str:
    return "as no log of its size on disk has" if max_bytes is None else "the limit that was given"
