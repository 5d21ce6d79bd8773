"""How much text a file may hold: a few kilobytes can unpack to gigabytes, or to millions of short rows.

Text is counted before any of it is read as rows, which takes a hundred times as long.
"""

from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Protocol

from multilogger.components.errors import BadInput

FREE_BYTES = 2**25  # that a compressed file may unpack to, however small it is
BLOCK_BYTES = 2**20
PACKED = (".gz", ".bz2")


class TooLong(BadInput):
    """A file holds more text than it may."""


class Readable(Protocol):
    """A file that is read from its beginning, unpacked."""

    def read(self, size: int, /) -> bytes: ...


def check_limit(max_bytes: int | None) -> None:
    """A limit that a person sets is 1 or more."""
    if max_bytes is not None and max_bytes < 1:
        raise BadInput(f"max_bytes must be 1 or more, got {max_bytes}")


def is_packed(name: str | PurePath) -> bool:
    """Whether a file is compressed, by its name."""
    return str(name).lower().endswith(PACKED)


def most_unpacked(size: int, ratio: int) -> int:
    """How many bytes of text a compressed file of `size` bytes may hold: `ratio` for each, and some free."""
    return FREE_BYTES + ratio * size


def crossed_here(path: Path, most_bytes: int, most_lines: int | None = None) -> str | None:
    """`crossed_limit` of a file of this machine; every cell of a study asks for the same ones."""
    facts = path.stat()
    return _crossed_at(str(path.absolute()), facts.st_mtime_ns, facts.st_size, most_bytes, most_lines)


@lru_cache(maxsize=4096)
def _crossed_at(path: str, _changed: int, _size: int, most_bytes: int, most_lines: int | None) -> str | None:
    from pyarrow import fs

    return crossed_in(fs.LocalFileSystem(), path, most_bytes, most_lines)


def crossed_in(system: Any, file: str, most_bytes: int, most_lines: int | None = None) -> str | None:
    """`crossed_limit` of a file of Arrow's; what cannot be read is told by who reads the rows."""
    try:
        with system.open_input_stream(file) as stream:
            return crossed_limit(stream, most_bytes, most_lines)
    except (OSError, ValueError):
        return None


def crossed_limit(file: Readable, most_bytes: int, most_lines: int | None = None) -> str | None:
    """The limit that the text of a file crosses, in words; None if it keeps to all. Read until then."""
    length = lines = 0
    while block := file.read(BLOCK_BYTES):
        length += len(block)
        if length > most_bytes:
            return f"{most_bytes:,} bytes of text"
        if most_lines is not None:
            lines += block.count(b"\n")
            if lines > most_lines:
                return f"{most_lines:,} lines"
    return None
