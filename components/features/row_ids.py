"""Features that are an id of the row: words or whole numbers that hardly come again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multilogger.components.features.frames import Rows, is_word
from multilogger.components.log.keys import Keys, id_keys

MOST_KEYS = 50_000  # of a column in memory
IDS = "an id says nothing of rows to come; leave it out"
FEWEST_ROWS = 100
NEARLY_ALL = 0.95  # different values a row


@dataclass
class _Kept:
    """The values whose key is a multiple of `step`, and how many rows have them."""

    step: int = 1
    rows: int = 0
    keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def add(self, keys: Keys) -> None:
        self.rows += len(keys)
        keys = keys[keys % np.uint64(self.step) == 0]
        both = np.r_[self.keys, keys]
        counts = np.r_[self.counts, np.ones(len(keys), dtype=np.int64)]
        self.keys, place = np.unique(both, return_inverse=True)
        self.counts = np.bincount(place.reshape(-1), counts, len(self.keys)).astype(np.int64)
        while len(self.keys) > MOST_KEYS:
            self.step *= 2
            mine = self.keys % np.uint64(self.step) == 0
            self.keys, self.counts = self.keys[mine], self.counts[mine]

    @property
    def share(self) -> float:
        """Different values a row."""
        return len(self.keys) / max(1, int(self.counts.sum()))


class RowIds:
    """Looks for them in the columns of words and whole numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self._kept = {name: _Kept() for name in names}

    def add(self, rows: Rows) -> None:
        import pyarrow as pa

        for name, kept in self._kept.items():
            if is_word(rows.kind(name)) or pa.types.is_integer(rows.kind(name)):
                column = rows.column(name, "features").combine_chunks().drop_null()
                kept.add(id_keys(column, name))

    @property
    def shares(self) -> dict[str, float]:
        """The columns that are ids, and how many different values a row each of them has."""
        return {
            name: kept.share
            for name, kept in self._kept.items()
            if kept.rows >= FEWEST_ROWS and kept.share > NEARLY_ALL
        }
