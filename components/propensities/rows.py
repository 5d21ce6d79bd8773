"""The rows of a log as an estimate of propensities takes them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features, LabelledData
from multilogger.components.propensities.time import TimeHats

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ActedRows:
    """Who did what where: `x` (m, d), `context` and `logger` (n,), `action` (n,) or (n, q).

    `extra` (n, e) are features of rows rather than of contexts, such as the time.
    """

    x: Features
    context: Numbers
    action: Actions
    logger: Numbers
    space: ActionSpace
    extra: Matrix | TimeHats | None = None

    def features(self, rows: Numbers) -> Features:
        """Of the given rows, with the extra columns behind: (b, d + e)."""
        x = self.x[self.context[rows]]
        return x if self.extra is None else with_columns(x, self.extra[rows])

    def labelled(self, rows: Numbers) -> LabelledData:
        """The given rows as what a regression is fitted to."""
        return LabelledData(self.features(rows), self.action[rows], self.space)

    def blocks(self, rows: Numbers, most: int) -> Iterator[Numbers]:
        """The given rows in lots of at most `most`."""
        for start in range(0, len(rows), most):
            yield rows[start : start + most]


def with_columns(x: Features, more: Matrix) -> Features:
    """Features (n, d) with further columns (n, e) behind: (n, d + e)."""
    behind = more.astype(np.float32)
    if isinstance(x, np.ndarray):
        return np.hstack([x, behind])
    return sparse.csr_array(sparse.hstack([x, sparse.csr_array(behind)], format="csr"))


def deal_folds(rows: ActedRows, folds: int, seed: int) -> Numbers:
    """The fold of each row, the same for all rows of a context: (n,).

    Choice: where there are fewer contexts than twice the folds, rows are dealt one by one.
    """
    contexts, n = int(rows.x.shape[0]), len(rows.context)
    rng = np.random.default_rng([seed, *b"propensity-folds"])
    if contexts < 2 * folds:
        return np.asarray(rng.permutation(n) % folds, dtype=np.int64)
    return np.asarray((rng.permutation(contexts) % folds)[rows.context], dtype=np.int64)
