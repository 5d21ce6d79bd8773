"""The second pass over a log: its rows in our schema, its contexts as features, test apart from the rest."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.features.frames import Rows
from multilogger.components.log.keys import Keys, feature_keys
from multilogger.components.log.schema import LogOrigin, LogRows, log_file, log_schema
from multilogger.components.log.writing import RowWriter
from multilogger.components.own_log.context_files import ContextWriter
from multilogger.components.own_log.mapping import Mapping
from multilogger.components.own_log.read_rows import (
    actions_of,
    both_propensities,
    loggers_of,
    outcomes_of,
)
from multilogger.components.own_log.source import OpenSource
from multilogger.components.own_log.split import Side, Splitter, context_keys, times_of_rows
from multilogger.components.own_log.survey import Survey

LOG_FOLDER, CONTEXT_FOLDER, TEST_FOLDER = "log", "contexts", "test"
TIMES = "times.f64"  # beside the rows of a logger: the time of each, where the log says it
Advance = Callable[[float], None]


@dataclass
class Written:
    """What was written: summed losses by logger and side (J, 3), contexts of both folders, unseen values."""

    losses: NDArray[np.float64]
    contexts: list[int] = field(default_factory=lambda: [0, 0])
    unseen: Counter[str] = field(default_factory=Counter)


def write_log(
    folder: Path,
    name: str,
    source: OpenSource,
    mapping: Mapping,
    splitter: Splitter,
    found: Survey,
    advance: Advance = lambda _: None,
) -> Written:
    """Write train and validation rows below `folder`, test rows below its folder `test`."""
    written = Written(np.zeros((len(found.loggers), len(Side))))
    with ExitStack() as stack:
        parts = [
            stack.enter_context(_Part(folder, name, mapping, found, found.contexts[0])),
            stack.enter_context(_Part(folder / TEST_FOLDER, name, mapping, found, found.contexts[1])),
        ]
        for rows in source.batches([*mapping.named, *mapping.features]):
            sides = splitter(rows)
            for number, part in enumerate(parts):
                here = (sides == Side.TEST) == bool(number)
                if here.any():
                    part.add(rows.only(here), sides[here], written)
            advance(len(rows))
        written.contexts = [part.count for part in parts]
    return written


class _Part:
    """One folder: files of every logger, and contexts counted from 0 in the order in which they are met."""

    def __init__(self, folder: Path, name: str, mapping: Mapping, found: Survey, hashes: Keys) -> None:
        self._mapping, self._found, self._stack, self.count = mapping, found, ExitStack(), 0
        self._numbers = _Numbers(hashes) if len(hashes) else None
        self._contexts = self._stack.enter_context(ContextWriter(folder / CONTEXT_FOLDER, found.columns))
        self._writers: list[RowWriter] = []
        self._times: list[BinaryIO] = []
        for j in range(len(found.loggers)):
            path = log_file(folder / LOG_FOLDER, j, 0)
            path.parent.mkdir(parents=True, exist_ok=True)
            origin = LogOrigin(name, 0, j, 1.0, 0)
            schema = log_schema(found.space, len(found.loggers), origin, found.actions)
            self._writers.append(self._stack.enter_context(RowWriter(path, schema)))
            if mapping.time is not None:
                self._times.append(self._stack.enter_context(path.with_name(TIMES).open("wb")))

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.__exit__(*failure)  # type: ignore[arg-type]

    def add(self, rows: Rows, sides: NDArray[np.int8], written: Written) -> None:
        found, mapping = self._found, self._mapping
        who = loggers_of(rows, mapping)
        place = {label: j for j, label in enumerate(found.logger_labels)}
        logger = np.array([place[label] for label in who.values], dtype=np.int64)[who.place]
        own, table = both_propensities(rows, mapping, logger, found.loggers)
        delta = _scaled(outcomes_of(rows, mapping), found)
        whole = LogRows(
            context=self._placed(rows, written).astype(np.int32),
            action=actions_of(rows, mapping, found.space, found.actions),
            delta=delta,
            log_propensity=own,
            log_propensities=table,
            validation=sides == Side.VALIDATION,
        )
        at = times_of_rows(rows, mapping) if self._times else None
        for j, writer in enumerate(self._writers):
            mine = np.flatnonzero(logger == j)
            if at is not None:
                self._times[j].write(at[mine].tobytes())
            if len(mine):
                writer.add(LogRows(*(column[mine] for column in vars(whole).values())))
                written.losses[j] += np.bincount(sides[mine], delta[mine], minlength=len(Side))

    def _placed(self, rows: Rows, written: Written) -> NDArray[np.int64]:
        """The number of each row's context; the features of new ones are written."""
        x, unseen = self._contexts.encode(rows)
        for one in unseen:
            written.unseen[one.column] += one.rows
        if self._numbers is None:
            self._contexts.add(x)
            self.count += len(rows)
            return np.arange(self.count - len(rows), self.count)
        number, new = self._numbers(context_keys(rows, self._mapping), feature_keys(x), rows)
        self._contexts.add(x[new])
        self.count += len(new)
        return number


class _Numbers:
    """Contexts by number in the order in which they are met, from the hashes of their ids."""

    def __init__(self, hashes: Keys) -> None:
        self._sorted, first = np.unique(hashes, return_index=True)
        self._number = np.empty(len(first), dtype=np.int64)
        self._number[np.argsort(first)] = np.arange(len(first))
        self._prints = np.zeros(len(first), dtype=np.uint64)
        self._met = 0

    def __call__(
        self, hashes: Keys, prints: NDArray[np.uint64], rows: Rows
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of rows' contexts (n,), and which rows are the first of theirs, in order."""
        number = self._number[np.searchsorted(self._sorted, hashes)]
        met, first = np.unique(number, return_index=True)
        new = first[met >= self._met]
        self._prints[number[new]] = prints[new]
        self._met += len(new)
        if (wrong := np.flatnonzero(self._prints[number] != prints)).size:
            raise BadInput(
                f"{rows.at(int(wrong[0]))}: its features are not those of an earlier row with the same "
                "context id; give each context one id, or leave --context out"
            )
        return number, new


def _scaled(outcomes: Vector, found: Survey) -> Vector:
    """Losses in the range that learners of this action space expect."""
    low_high = found.outcomes.reward_range
    losses = outcomes if low_high is None else low_high[1] - outcomes
    return losses * (found.space.largest_loss / found.outcomes.max_loss)
