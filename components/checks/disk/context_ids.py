"""Context ids whose rows differ in their features: such a log cannot be learned from, and is refused."""

from collections.abc import Iterator

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.checks.findings import Finding
from multilogger.components.features.frames import Rows
from multilogger.components.log.keys import Keys, feature_keys

MOST_KEYS = 200_000  # contexts in memory; of more, those whose key is a multiple of `step`


class ContextIds:
    """Holds the features of each row against those of the first row of its context."""

    def __init__(self) -> None:
        self._step, self._first = 1, ""
        self._keys, self._prints = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)
        self._differ = np.empty(0, dtype=np.bool_)

    def add(self, context: Keys, features: Matrix, rows: Rows) -> None:
        """Keys of contexts (n,) and their features (n, d)."""
        whole = np.asarray(features, dtype=np.float32)
        with np.errstate(invalid="ignore"):  # infinite less infinite
            prints = feature_keys(np.hstack([whole, features - whole]))  # times need more than 32 bits
        mine = np.flatnonzero(context % np.uint64(self._step) == 0)
        keys, first = np.unique(np.r_[self._keys, context[mine]], return_index=True)
        known = np.r_[self._prints, prints[mine]][first]
        differ = np.r_[self._differ, np.zeros(len(mine), dtype=np.bool_)][first]
        place = np.searchsorted(keys, context[mine])
        wrong = np.flatnonzero(known[place] != prints[mine])
        differ[place[wrong]] = True
        if len(wrong) and not self._first:
            self._first = rows.at(int(mine[wrong[0]]))
        while len(keys) > MOST_KEYS:
            self._step *= 2
            kept = keys % np.uint64(self._step) == 0
            keys, known, differ = keys[kept], known[kept], differ[kept]
        self._keys, self._prints, self._differ = keys, known, differ

    def findings(self) -> Iterator[Finding]:
        if self._first:
            share = float(self._differ.mean()) if len(self._differ) else 0.0
            yield Finding(
                "context-features",
                "unsafe",
                f"{share:.1%} of the contexts have rows with other features than their first row, such as "
                f"{self._first}",
                share,
                "give each context one id, leave out features that change within one, or the context",
            )
