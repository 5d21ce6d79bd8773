"""How much text a file may hold: a few kilobytes can unpack to gigabytes, or to millions of short rows.

Text is counted before any of it is read as rows, which takes a hundred times as long.
"""

from pathlib import PurePath
from typing import Protocol

from multilogger.components.errors import BadInput

FREE_BYTES = 2**25  # that a compressed file may unpack to, however small it is
BLOCK_BYTES = 2**20
PACKED = (".gz", ".bz2")


class TooLong(BadInput):
    """A file holds more text than it may."""


class Readable(Protocol):
    """A file that is read from its beginning, unpacked."""

    def read(self, size: int, /) -> bytes: ...


def is_packed(name: str | PurePath) -> bool:
    """Whether a file is compressed, by its name."""
    return str(name).lower().endswith(PACKED)


def most_unpacked(size: int, ratio: int) -> int:
    """How many bytes of text a compressed file of `size` bytes may hold: `ratio` for each, and some free."""
    return FREE_BYTES + ratio * size


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
