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
    """A table or batch of Arrow whose views, in lists too, are plain text and bytes; Arrow filters none."""
    for place, field in enumerate(rows.schema):
        if (kind := _plain_type(field.type)) != field.type:
            rows = rows.set_column(place, field.with_type(kind), rows.column(place).cast(kind))
    return rows


def _plain_type(kind: Any) -> Any:
    """The same type with plain text and bytes for views."""
    import pyarrow as pa

    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    inner = [kind.field(place) for place in range(kind.num_fields)]
    plain = [field.with_type(_plain_type(field.type)) for field in inner]
    if plain == inner:
        return kind
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain[0], kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(plain[0])
    if pa.types.is_large_list(kind):
        return pa.large_list(plain[0])
    return pa.struct(plain) if pa.types.is_struct(kind) else kind


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
