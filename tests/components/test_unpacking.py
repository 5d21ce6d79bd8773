"""No more of a file is read than its limits allow."""

import io

import pytest

from multilogger.components.unpacking import (
    BLOCK_BYTES,
    FREE_BYTES,
    crossed_limit,
    is_packed,
    most_unpacked,
)


class Endless(io.RawIOBase):
    """Empty lines without end."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def read(self, size: int = -1, /) -> bytes:
        self.given += size
        return b"\n" * size


@pytest.mark.parametrize(
    ("most_bytes", "most_lines", "found"),
    [
        (10, None, "10 bytes of text"),
        (3_000_000, None, "3,000,000 bytes of text"),
        (3_000_000, 2_000_000, "2,000,000 lines"),
        (3_000_000, 2**22, "3,000,000 bytes of text"),
    ],
)
def test_reading_ends_where_a_limit_is_crossed(most_bytes: int, most_lines: int | None, found: str) -> None:
    file = Endless()
    assert crossed_limit(file, most_bytes, most_lines) == found
    assert file.given <= most_bytes + BLOCK_BYTES


@pytest.mark.parametrize(("text", "lines"), [(b"", 0), (b"a\nb\n", 2), (b"a\nb", 2)])
def test_what_keeps_to_its_limits_is_fine(text: bytes, lines: int) -> None:
    assert crossed_limit(io.BytesIO(text), len(text), lines) is None


def test_a_file_may_unpack_to_a_multiple_of_its_size() -> None:
    assert (most_unpacked(0, 50), most_unpacked(1000, 50)) == (FREE_BYTES, FREE_BYTES + 50_000)
    assert [is_packed(name) for name in ("a.csv.gz", "a.BZ2", "a.csv", "gz")] == [True, True, False, False]
