"""Compressed files of a log, counted before they are read: few bytes can unpack to many."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.log.unreadable import READ_ERRORS
from multilogger.components.unpacking import TooLong, crossed_limit, is_packed, most_unpacked

MOST_UNPACKED = 100  # bytes of text for one of a compressed log: logs have 3 to 30, of few features more


def check_unpacked(files: Sequence[str | Path], system: Any, max_bytes: int | None) -> None:
    """Refuse a compressed file that unpacks to more than `max_bytes`; by default what its size allows."""
    from pyarrow import fs

    if max_bytes is not None and max_bytes < 1:
        raise BadInput(f"max_bytes must be 1 or more, got {max_bytes}")
    for file in (str(one) for one in files if is_packed(one)):
        facts = system.get_file_info(file)
        most = most_unpacked(facts.size or 0, MOST_UNPACKED) if max_bytes is None else max_bytes
        local = isinstance(system, fs.LocalFileSystem)
        found = (
            _crossed_here(file, facts.mtime_ns, facts.size, most) if local else _crossed(file, system, most)
        )
        if found is not None:
            raise TooLong(
                f"{Path(file).name} unpacks to more than {found}, {_why(max_bytes)}; give a smaller file, or "
                "allow N bytes with --max-bytes N (in Python max_bytes=N)"
            )


def _why(max_bytes: int | None) -> str:
    return "as no log of its size on disk has" if max_bytes is None else "the limit that was given"


@lru_cache(maxsize=4096)
def _crossed_here(file: str, _changed: int, _size: int, most: int) -> str | None:
    """Counted again only if the file has changed: every cell of a study asks."""
    from pyarrow import fs

    return _crossed(file, fs.LocalFileSystem(), most)


def _crossed(file: str, system: Any, most: int) -> str | None:
    """The limit that is crossed, if it is; what cannot be read is told by who reads the rows."""
    try:
        with system.open_input_stream(file) as stream:
            return crossed_limit(stream, most)
    except READ_ERRORS:
        return None
