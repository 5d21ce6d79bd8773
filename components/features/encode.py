"""The features of rows by an encoding that is known: dense or sparse, and what the encoding did not know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import first_bad
from multilogger.components.features.column import Column, Kind, bucket_of
from multilogger.components.features.frames import Rows
from multilogger.components.log.files import is_list

DAY, WEEK = 86_400.0, 7 * 86_400.0
SECOND = 1.0  # what a time may lose when it is written
EPOCH_WEEKDAY = 3 * 86_400.0  # 1970-01-01 was a Thursday


@dataclass(frozen=True)
class Unseen:
    """Values of a column that its encoding does not know: how many rows, and one of them.

    `outside` says that they are times before or after those of the log.
    """

    column: str
    rows: int
    example: str | None
    outside: bool = False

    def __str__(self) -> str:
        if self.outside:
            where = f"outside of the times of the log, such as {self.example},"
            return f"{self.column!r} is {where} in {self.rows} rows"
        what = "missing" if self.example is None else f"not among those of the log, such as {self.example!r}"
        return f"{self.column!r} is {what} in {self.rows} rows"


@dataclass(frozen=True)
class Block:
    """The features of one column.

    Numbers (n, width), or `hot` (n,), the only feature that is 1, -1 for none.
    """

    width: int
    numbers: NDArray[np.float64] | None = None
    hot: NDArray[np.int64] | None = None
    unseen: tuple[Unseen, ...] = ()


def finite_numbers(rows: Rows, name: str) -> Vector:
    """A column of numbers that features can hold, NaN where one is missing: (n,)."""
    values = rows.numbers(name)
    if (row := first_bad(np.abs(values) > np.finfo(np.float32).max)) is not None:
        raise BadInput(
            f"{rows.at(row)}: {name!r} is {values[row]:g}, infinite or too large for a feature of 32 bits; "
            "mend it or drop the row"
        )
    return values


def encode(column: Column, rows: Rows) -> Block:
    """The features of one column of a frame."""
    rows.require(column.name, "features")
    if column.kind in (Kind.WORDS, Kind.HASHED):
        return _words(column, rows)
    if column.kind is Kind.TIME:
        return _times(column, rows)
    lists = is_list(rows.kind(column.name))
    table = rows.lists(column.name) if lists else None
    if (found := 1 if table is None else table.shape[1]) != column.values:
        raise BadInput(
            f"{rows.where}: column {column.name!r} holds {found} numbers per row, the log of the policy had "
            f"{column.values}; give those"
        )
    if table is not None:
        return Block(column.width, table)
    values = finite_numbers(rows, column.name)
    gaps = np.isnan(values)
    if gaps.any() and column.fill is None:
        raise BadInput(
            f"{rows.at(int(np.flatnonzero(gaps)[0]))}: {column.name!r} is missing; fill it in or drop the row"
        )
    filled = np.where(gaps, column.fill or 0.0, values)
    return _with_gaps(column, filled[:, None], gaps)


def _with_gaps(column: Column, values: NDArray[np.float64], gaps: NDArray[np.bool_]) -> Block:
    """Numbers with the feature that says what is missing, if there is one."""
    if column.missing:
        return Block(column.width, np.hstack([values, gaps[:, None]]))
    unseen = (Unseen(column.name, int(gaps.sum()), None),) if gaps.any() else ()
    return Block(column.width, values, unseen=unseen)


def _words(column: Column, rows: Rows) -> Block:
    coded = rows.coded(column.name)
    if column.categories is None:
        places = np.array([bucket_of(word, column.values) for word in coded.words], dtype=np.int64)
    else:
        known = {word: place for place, word in enumerate(column.categories)}
        places = np.array([known.get(word, -1) for word in coded.words], dtype=np.int64)
    hot = np.append(places, column.values if column.missing else -1)[coded.place]
    lost = np.flatnonzero(hot < 0)
    if not len(lost):
        return Block(column.width, hot=hot)
    first = coded.place[lost[0]]
    example = coded.words[first] if first < len(coded.words) else None
    return Block(column.width, hot=hot, unseen=(Unseen(column.name, len(lost), example),))


def _times(column: Column, rows: Rows) -> Block:
    seconds = rows.seconds(column.name)
    gaps = np.isnan(seconds)
    span = column.last - column.first
    middle = column.first + span / 2.0 if column.fill is None else column.fill
    filled = np.where(gaps, middle, seconds)
    # Choice: a time after the log counts as its last, one before it as its first; a policy has learned
    # nothing of later ones, and its answer would go on with them without bound.
    held = np.clip(filled, column.first, column.last)
    age = (held - column.first) / span if span > 0 else np.zeros(len(filled))
    hour, week = _circle(filled, DAY), _circle(filled + EPOCH_WEEKDAY, WEEK)
    values = np.stack([age, *hour, *week], axis=1)
    values[gaps, 1:] = 0.0
    block = _with_gaps(column, values, gaps)
    far = np.flatnonzero(np.abs(filled - held) > SECOND)
    if not len(far):
        return block
    example = str(np.datetime64(int(filled[far[0]]), "s"))
    return replace(block, unseen=(*block.unseen, Unseen(column.name, len(far), example, outside=True)))


def _circle(seconds: Vector, period: float) -> tuple[Vector, Vector]:
    angle = 2.0 * np.pi * (seconds % period) / period
    return np.sin(angle), np.cos(angle)


def dense(blocks: Sequence[Block], rows: int) -> NDArray[np.float32]:
    """All blocks side by side: (n, d)."""
    x = np.zeros((rows, sum(block.width for block in blocks)), dtype=np.float32)
    start = 0
    with np.errstate(over="ignore"):  # a number too large for 32 bits is infinite, and refused as such
        for block in blocks:
            if block.numbers is not None:
                x[:, start : start + block.width] = block.numbers
            elif block.hot is not None:
                some = np.flatnonzero(block.hot >= 0)
                x[some, start + block.hot[some]] = 1.0
            start += block.width
    return x


def compressed(blocks: Sequence[Block], rows: int) -> sparse.csr_array:
    """The same without the zeros."""
    places, columns, values = [], [], []
    start = 0
    for block in blocks:
        if block.numbers is not None:
            row, column = np.nonzero(block.numbers)
            value = block.numbers[row, column]
        else:
            row = np.flatnonzero(block.hot >= 0) if block.hot is not None else np.empty(0, dtype=np.int64)
            column = row if block.hot is None else block.hot[row]
            value = np.ones(len(row))
        places.append(row)
        columns.append(column + start)
        values.append(value)
        start += block.width
    with np.errstate(over="ignore"):
        data = np.concatenate(values).astype(np.float32)
    made = sparse.coo_array((data, (np.concatenate(places), np.concatenate(columns))), shape=(rows, start))
    return sparse.csr_array(made)
