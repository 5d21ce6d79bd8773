"""The encoding of a log's columns, learned from its rows in one pass, some rows at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.features.column import TIME_PARTS, Column, Kind
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.encode import finite_numbers
from multilogger.components.features.frames import Rows, is_time, is_word
from multilogger.components.features.row_ids import RowIds
from multilogger.components.log.files import is_list


@dataclass(frozen=True)
class Limits:
    """How many words of a column have a feature each, and how many features more words are hashed into.

    Choice: the paper has numbers alone. Contexts are held as dense arrays while a policy is learned, so a
    column of many words must not become as many features.
    """

    words: int = 256
    buckets: int = 256


@dataclass
class _Study:
    """What was seen of one column so far."""

    name: str
    limits: Limits
    kind: Kind | None = None
    width: int = 1
    rows: int = 0
    gaps: int = 0
    total: float = 0.0
    words: set[str] = field(default_factory=set)
    first: float = np.inf
    last: float = -np.inf

    def add(self, rows: Rows) -> None:
        kind = _kind(rows, self.name)
        if self.kind is None:
            self.kind = kind
        elif kind is not self.kind:
            raise BadInput(
                f"{rows.where}: column {self.name!r} holds {kind.value}, and {self.kind.value} in "
                "other files; cast it to one"
            )
        self.rows += len(rows)
        if kind is Kind.WORDS:
            self._add_words(rows)
        elif kind is Kind.TIME:
            self._add_numbers(rows.seconds(self.name))
        elif is_list(rows.kind(self.name)):
            self.width = rows.lists(self.name).shape[1]
        else:
            self._add_numbers(finite_numbers(rows, self.name))

    def _add_words(self, rows: Rows) -> None:
        coded = rows.coded(self.name)
        self.gaps += int((coded.place == len(coded.words)).sum())
        if len(self.words) <= self.limits.words:  # beyond it they are hashed, and need not be known
            self.words.update(coded.words)

    def _add_numbers(self, values: Vector) -> None:
        known = values[~np.isnan(values)]
        self.gaps += len(values) - len(known)
        self.total += float(known.sum())
        if len(known):
            self.first, self.last = min(self.first, float(known.min())), max(self.last, float(known.max()))

    def column(self) -> Column:
        if self.gaps == self.rows:
            raise BadInput(f"column {self.name!r} is missing in every row; leave it out of the features")
        missing = self.gaps > 0
        if self.kind is Kind.WORDS:
            if len(self.words) > self.limits.words:
                width = self.limits.buckets + missing
                return Column(self.name, width, kind=Kind.HASHED, missing=missing)
            words = tuple(sorted(self.words))
            return Column(self.name, len(words) + missing, words, Kind.WORDS, missing=missing)
        mean = self.total / max(1, self.rows - self.gaps)
        if self.kind is Kind.TIME:
            width = len(TIME_PARTS) + missing
            return Column(self.name, width, None, Kind.TIME, mean, missing, self.first, self.last)
        if self.width != 1 or not np.isfinite(self.first):
            return Column(self.name, self.width)
        return Column(self.name, 1 + missing, None, self.kind or Kind.NUMBER, mean, missing)


class EncodingLearner:
    """Learns how the named columns are encoded: `add` rows, then ask for the `columns`."""

    def __init__(self, names: Sequence[str], limits: Limits | None = None) -> None:
        if not names:
            raise BadInput("features needs one or more names of columns, got none")
        self._studies = [_Study(name, limits or Limits()) for name in names]
        self._ids = RowIds(names)

    def add(self, rows: Rows) -> None:
        """Look at some more rows."""
        for study in self._studies:
            rows.require(study.name, "features")
            study.add(rows)
        self._ids.add(rows)

    @property
    def ids(self) -> dict[str, float]:
        """Columns with another value in nearly every row, which says nothing of others."""
        return self._ids.shares

    @property
    def columns(self) -> FeatureColumns:
        return FeatureColumns(tuple(study.column() for study in self._studies))


def learn_columns(rows: Rows, wanted: str | Sequence[str], limits: Limits | None = None) -> EncodingLearner:
    """The encoding of the named columns of a frame, as its `columns`."""
    learner = EncodingLearner([wanted] if isinstance(wanted, str) else list(wanted), limits)
    learner.add(rows)
    return learner


def _kind(rows: Rows, name: str) -> Kind:
    import pyarrow as pa

    kind = rows.kind(name)
    if is_word(kind):
        return Kind.WORDS
    if is_time(kind):
        return Kind.TIME
    return Kind.BOOLEAN if pa.types.is_boolean(kind) else Kind.NUMBER
