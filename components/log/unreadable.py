"""Columns and files that Arrow may not be able to read, and what is said then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.errors import BadInput, first_line

# Arrow's derive from these; Python overflows at days that its calendar does not have.
READ_ERRORS = (OSError, ValueError, TypeError, NotImplementedError, KeyError, OverflowError)


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Say which file cannot be read."""
    try:
        yield
    except BadInput:
        raise
    except READ_ERRORS as error:
        raise BadInput(
            f"{where} cannot be read as Parquet of the log's schema ({first_line(error)})"
        ) from error


@contextmanager
def unchanged(where: str, said: Callable[[], object]) -> Iterator[None]:
    """Refuse files that change while they are read: each pass would see other rows.

    `said` is what their file system says of them, size and time of change. A damage that the change made is
    not told as one.
    """
    before = said()
    try:
        yield
    except BadInput as error:
        if _now(said) != before:
            raise BadInput(_changed(where)) from error
        raise
    if _now(said) != before:
        raise BadInput(_changed(where))


def _now(said: Callable[[], object]) -> object:
    """What is said now; None of files that are gone."""
    try:
        return said()
    except (BadInput, OSError):
        return None


def _changed(where: str) -> str:
    return f"the files of {where} changed while they were read; run the command again when nobody writes them"


def without_views(rows: Any) -> Any:
    """A table or batch of Arrow whose views are plain text and bytes; Arrow filters no views."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for place, field in enumerate(rows.schema):
        if field.type in plain:
            cast = rows.column(place).cast(plain[field.type])
            rows = rows.set_column(place, field.with_type(cast.type), cast)
    return rows


def first_word(column: Any) -> int | None:
    """The place of the first text of a column that is no number; None in columns of other kinds."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    for place, word in enumerate(column.to_pylist()):
        try:
            float(word or 0)
        except ValueError:
            return place
    return None


@dataclass(frozen=True)
class Distinct:
    """The values of a column, each of them once, and the place of each row's value among them: (n,)."""

    values: list[Any]
    place: NDArray[np.int64]


def distinct(column: Any, what: str) -> Distinct:
    """The distinct values of an Arrow array without gaps; `what` the column is called."""
    import pyarrow as pa

    try:
        wide = column.cast(pa.float32()) if pa.types.is_float16(column.type) else column  # Arrow lacks those
        encoded = wide.dictionary_encode()
        return Distinct(encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64))
    except READ_ERRORS as error:
        raise BadInput(
            f"column {what!r} holds {column.type}, which cannot be told apart ({first_line(error, 120)}); "
            "cast it to whole numbers or words"
        ) from error
