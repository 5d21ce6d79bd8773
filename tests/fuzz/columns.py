"""Columns of every kind that Arrow writes to Parquet, with values at the ends of what the kind can hold."""

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tests.fuzz.doors import odd

WORDS = (
    "jam", "pie", "tea", "", " jam", "Jam", "0", "1", "nan", "../x", "[/]", "a\nb", "\x1b[31m", "\u202e",
    "w" * 5000,
)  # fmt: skip
NUMBERS = (0, 1, 2, -1, 0.5, 0.25, -0.0, 1e-300, 5e-324, 1e300, 1.0000001, 3.4e38, float("nan"), float("inf"))
WHOLE = (0, 1, 2, 3, 7, 100)
FAR = (0, 1, -1, 10**12, 10**15, 10**18, -(2**63) + 1, 2**63 - 1)
SMALL = (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32())
LARGE = {
    pa.int64(): (2**62, 2**53 + 1, -(2**63), 2**63 - 1),
    pa.uint64(): (2**63, 2**63 + 5, 2**64 - 1, 2**53 + 1),
}
TEXT = (pa.string(), pa.large_string(), pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
MOMENTS = (
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp("us", zone) for zone in ("UTC", "Asia/Kathmandu", "+05:30", "Mars/Olympus")),
    pa.duration("us"),
)


def one_of(values: Any, rng: np.random.Generator) -> Any:
    return values[rng.integers(0, len(values))]


def some(values: Any, rows: int, rng: np.random.Generator) -> list[Any]:
    """A few of the values, over and over."""
    few = [one_of(values, rng) for _ in range(rng.integers(1, 4))]
    return [one_of(few, rng) for _ in range(rows)]


def plain_column(rows: int, rng: np.random.Generator) -> pa.Array:
    """A column without structure, without gaps."""
    kind = rng.integers(0, 12)
    if kind == 0:
        return pa.array(some(WHOLE, rows, rng), one_of(SMALL, rng))
    if kind == 1:
        chosen = one_of(tuple(LARGE), rng)
        return pa.array(some((*WHOLE, *LARGE[chosen]), rows, rng), chosen)
    if kind == 2:
        with np.errstate(over="ignore"):
            return pa.array(
                np.array(some(NUMBERS, rows, rng), one_of((np.float16, np.float32, np.float64), rng))
            )
    if kind == 3:
        return pa.array(some(WORDS, rows, rng), one_of(TEXT, rng))
    if kind == 4:
        return pa.array(some((b"", b"a", b"\xff\xfe"), rows, rng), one_of(BYTES, rng))
    if kind == 5:
        return pa.array(some(FAR, rows, rng), one_of(MOMENTS, rng))
    if kind == 6:
        return pa.array(some((True, False), rows, rng))
    if kind == 7:
        exact = (Decimal("0.25"), Decimal(1), Decimal(0), Decimal(10) ** 25)
        return pa.array(some(exact, rows, rng), one_of((pa.decimal128(38, 10), pa.decimal256(76, 10)), rng))
    if kind == 8:
        return pa.array(some((date(1, 1, 1), date(2026, 1, 5), date(9999, 12, 31)), rows, rng), pa.date32())
    if kind == 9:
        return pa.array(some((time(0), time(23, 59, 59)), rows, rng), pa.time64("us"))
    if kind == 10:
        return pa.array(some((timedelta(0), timedelta(10_000)), rows, rng))
    return pa.array(some((bytes(4), b"\xff" * 4), rows, rng), pa.binary(4))


def taken(column: pa.Array, places: pa.Array) -> pa.Array:
    """Some rows of a column; Arrow takes none of views."""
    if column.type in (pa.string_view(), pa.binary_view()):
        return column.cast(pa.large_binary()).take(places).cast(column.type)
    return column.take(places)


def typed_column(rows: int, rng: np.random.Generator) -> pa.Array:
    """A plain column, one of categories, lists, structures, maps or nothing, some with gaps."""
    kind = rng.integers(0, 10)
    if kind == 0:
        return pa.nulls(rows, one_of((pa.null(), pa.float64(), pa.string(), pa.timestamp("us")), rng))
    if kind == 1:
        words = pa.array([f"w{i}" for i in range(int(one_of((1, 3, 2**12), rng)))], one_of(TEXT[:2], rng))
        return pa.DictionaryArray.from_arrays(rng.integers(0, len(words), rows).astype(np.int32), words)
    if kind == 2:
        return pa.array([{"a": 1, "b": "x"}] * rows)
    if kind == 3:
        return pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64()))
    column = plain_column(rows, rng)
    if kind <= 5:  # lists: some ragged, of one length, of none
        width = int(rng.integers(0, 5))
        values = taken(column, pa.array(rng.integers(0, rows, rows * width)))
        if kind == 4 and width:
            return pa.FixedSizeListArray.from_arrays(values, width)
        starts = np.arange(rows + 1) * width
        if width and rng.random() < 0.3:
            starts[1:-1] -= rng.integers(0, width + 1, rows - 1)
        return pa.ListArray.from_arrays(starts.astype(np.int32), values)
    if kind == 6:
        kept = rng.random(rows) < 0.8
        return taken(column, pa.array(np.arange(rows), mask=~kept))
    return column


def writable(column: pa.Array) -> bool:
    """Whether Parquet has such a column."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(pa.table({"column": column}), pa.BufferOutputStream())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def odd_column(rows: int, rng: np.random.Generator) -> pa.Array:
    """A column of any kind, or one odd value in all rows or in some."""
    if rng.random() < 0.6:
        column = typed_column(rows, rng)
        return column if writable(column) else pa.nulls(rows)
    values: list[Any] = [odd(rng)] * rows
    if rng.random() < 0.5:
        values = [value if rng.random() < 0.5 else None for value in values]
    try:
        column = pa.array(values)
        if not (pa.types.is_struct(column.type) and column.type.num_fields == 0):  # Parquet has no such
            return column
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    return pa.array([rng.normal() * 10.0 ** rng.integers(-300, 300) for _ in range(rows)])
