"""Which rows are learned from, which choose the epoch, and which judge the policy in the end.

Draws are by a hash of the context's id, or of the file and the row, so that a row's side does not depend on
how many rows are read at a time.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.features.frames import Rows, is_time, is_word
from multilogger.components.log.keys import Keys, id_keys, mixed, row_keys
from multilogger.components.own_log.mapping import Mapping
from multilogger.components.own_log.source import OpenSource


class Side(IntEnum):
    """Where a row goes."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2


Sides = NDArray[np.int8]
WORDS = {
    "train": Side.TRAIN,
    "training": Side.TRAIN,
    "validation": Side.VALIDATION,
    "valid": Side.VALIDATION,
    "val": Side.VALIDATION,
    "test": Side.TEST,
}


class SideBy(StrEnum):
    """What decides the side of a row."""

    CONTEXT = "context"
    TIME = "time"
    GIVEN = "given"


@dataclass(frozen=True)
class SplitPlan:
    """`test` is the share of the log that judges the policy, `validation` that of the rest."""

    by: SideBy
    test: float
    validation: float
    seed: int


@dataclass(frozen=True)
class Splitter:
    """Says the side of rows. `last_train` and `last_validation` are the ends of both in time."""

    plan: SplitPlan
    mapping: Mapping
    last_train: float = np.inf
    last_validation: float = np.inf

    def __call__(self, rows: Rows) -> Sides:
        """One side per row: (n,)."""
        if self.plan.by is SideBy.TIME:
            at = times_of_rows(rows, self.mapping)
            late = (at > self.last_train).astype(np.int8)
            return late + (at > self.last_validation).astype(np.int8)
        if self.plan.by is SideBy.GIVEN:
            return self._given(rows)
        identity = context_keys(rows, self.mapping) ^ np.uint64(self.plan.seed)
        return self._drawn(identity, _share(identity, 1) < self.plan.test)

    def _drawn(self, identity: Keys, test: NDArray[np.bool_]) -> Sides:
        kept_aside = _share(identity, 2) < self.plan.validation
        return np.where(test, Side.TEST, np.where(kept_aside, Side.VALIDATION, Side.TRAIN)).astype(np.int8)

    def _given(self, rows: Rows) -> Sides:
        import pyarrow as pa

        name = str(self.mapping.split)
        if pa.types.is_boolean(rows.kind(name)):
            identity = context_keys(rows, self.mapping) ^ np.uint64(self.plan.seed)
            return self._drawn(identity, rows.numbers(name, "split") == 1)
        if not is_word(rows.kind(name)):
            raise BadInput(
                f"column {name!r} must say train, validation or test, or be true for test rows, got "
                f"{rows.kind(name)}; cast it"
            )
        coded = rows.coded(name)
        known = np.array([*(int(WORDS.get(word.lower(), -1)) for word in coded.words), -1], dtype=np.int8)
        sides = known[coded.place]
        if (wrong := np.flatnonzero(sides < 0)).size:
            place = coded.place[wrong[0]]
            said = repr(coded.words[place]) if place < len(coded.words) else "missing"
            raise BadInput(
                f"{rows.at(int(wrong[0]))}: column {name!r} must say train, validation or test, it is {said}"
            )
        return sides


def check_split(plan: SplitPlan, mapping: Mapping, source: OpenSource) -> None:
    """Refuse a split that the columns cannot give, before anything is started; reads a given one once."""
    import pyarrow as pa

    if plan.by is SideBy.TIME:
        if mapping.time is None:
            raise BadInput("a split by time needs the column of times; name it with --time")
        if is_word(source.kind(mapping.time)):
            raise _no_times(source.source.path, mapping.time)
    if plan.by is SideBy.GIVEN:
        if mapping.split is None:
            raise BadInput("a given split needs the column that says it; name it with --split-column")
        if pa.types.is_boolean(source.kind(mapping.split)):
            return
        splitter, seen = Splitter(plan, mapping), set()
        for rows in source.batches([mapping.split]):
            seen |= set(splitter(rows).tolist())
        if lost := [side.name.lower() for side in Side if side not in seen]:
            raise BadInput(
                f"column {mapping.split!r} says {' and '.join(lost)} of no row, and a policy needs all of "
                f"{', '.join(side.name.lower() for side in Side)}; mend it, or split with --split-by context"
            )


def open_splitter(plan: SplitPlan, mapping: Mapping, source: OpenSource) -> Splitter:
    """Decide the split, one that `check_split` has passed; one by time reads the times once."""
    if plan.by is not SideBy.TIME or mapping.time is None:
        return Splitter(plan, mapping)
    order = np.sort(np.concatenate([times_of_rows(rows, mapping) for rows in source.batches([mapping.time])]))
    before_test = max(1, round((1.0 - plan.test) * len(order)))
    before_validation = max(1, round((1.0 - plan.validation) * before_test))
    return Splitter(plan, mapping, float(order[before_validation - 1]), float(order[before_test - 1]))


def times_of_rows(rows: Rows, mapping: Mapping) -> Vector:
    """The column of times as numbers, none missing: (n,)."""
    name = str(mapping.time)
    if is_word(rows.kind(name)):
        raise _no_times(rows.where, name)
    found = rows.seconds(name) if is_time(rows.kind(name)) else rows.numbers(name, "time")
    if (gaps := np.flatnonzero(np.isnan(found))).size:
        raise BadInput(f"{rows.at(int(gaps[0]))}: {name!r} is missing; fill it in or drop the row")
    return found


def _no_times(where: str, name: str) -> BadInput:
    return BadInput(
        f"{where}: column {name!r} (time) must hold times or numbers, got text; cast it to a timestamp"
    )


def context_keys(rows: Rows, mapping: Mapping) -> Keys:
    """One key per context; rows without an id have one each, from their file and place in it: (n,)."""
    if mapping.context is None:
        return row_keys(rows.where, rows.numbers_of_rows)
    column = rows.column(mapping.context, "context")
    if column.null_count:
        gap = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise BadInput(f"{rows.at(gap)}: {mapping.context!r} is missing; fill it in or drop the row")
    what = f"{rows.where}: column {mapping.context!r} (context)"
    return np.concatenate([id_keys(chunk, what) for chunk in column.chunks])


def _share(identity: Keys, stream: int) -> Vector:
    """A number in [0, 1) per identity; streams are independent."""
    return np.asarray(mixed(identity + np.uint64(stream)) >> np.uint64(11)) / 2.0**53
