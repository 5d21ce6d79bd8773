"""Weights that add up over labels, of the rows of a log under a policy, and a test of what they rest on.

The test is that of `learners/loss_models/additivity.py` with pairs alone, from sums over rows. The residual
of any additive model is a sum over labels plus noise where the loss is, and (y_l - p_jl)(y_m - p_jm) is
uncorrelated with such sums. One half of the contexts gives a direction by ridge regression, the other half
tests it.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import marginals, pair_scores
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.additive_weights import (
    balanced_additive_weights,
    own_additive_weights,
    support_shares,
)
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.context_sums import AdditiveScores
from multilogger.components.learners.loss_models.additivity import AdditivityTest, choose_pairs

MOST_ROWS = 100_000  # a test needs no more
BLOCK_ROWS = 4096
SMALLEST_SCALE = 1e-12


class AdditivityFromRows:
    """`logger_logits` (J, m, q) on contexts by number; contexts of even and of odd `fold` are the halves."""

    def __init__(self, logger_logits: NDArray[np.float64], rng: np.random.Generator) -> None:
        self._tables = logger_logits
        contexts, labels = logger_logits.shape[1:]
        self._half = rng.permutation(contexts) % 2
        self._pairs = choose_pairs(labels, rng)
        count = len(self._pairs)
        self._gram = np.zeros((2, count, count))
        self._moment = np.zeros((2, count))
        self._noise = np.zeros((count, count))
        self._squares = 0.0
        self._rows = [0, 0]

    def add(self, context: NDArray[np.int64], logger: Loggers, action: Actions, residual: Vector) -> None:
        """Some rows (n,) with what an additive model leaves of their losses."""
        for start in range(0, len(context), BLOCK_ROWS):
            if sum(self._rows) >= MOST_ROWS or not len(self._pairs):
                return
            rows = slice(start, start + BLOCK_ROWS)
            self._block(context[rows], logger[rows], action[rows], residual[rows])

    def _block(self, context: NDArray[np.int64], logger: Loggers, action: Actions, residual: Vector) -> None:
        scores = pair_scores(marginals(self._tables[logger, context]), action, self._pairs)
        for half in (0, 1):
            here = self._half[context] == half
            terms, r = scores[here], residual[here]
            self._gram[half] += terms.T @ terms
            self._moment[half] += terms.T @ r
            self._rows[half] += len(r)
            if half:
                weighed = terms * r[:, None]
                self._noise += weighed.T @ weighed
                self._squares += float(r @ r)

    def result(self) -> AdditivityTest | None:
        """None where there is nothing to test: a single label, or too few rows."""
        if min(self._rows) < 2 or not len(self._pairs):
            return None
        scale = np.sqrt(np.diag(self._gram[0]) / self._rows[0])
        used = scale > SMALLEST_SCALE
        direction = np.zeros(len(scale))
        if used.any():
            unit = self._gram[0][np.ix_(used, used)] / np.outer(scale[used], scale[used])
            ridge = unit + used.sum() * np.eye(int(used.sum()))
            direction[used] = np.linalg.solve(ridge, self._moment[0][used] / scale[used]) / scale[used]
        spread = math.sqrt(max(0.0, float(direction @ self._noise @ direction)))
        found = float(direction @ self._moment[1])
        taken = 2.0 * found - float(direction @ self._gram[1] @ direction)
        statistic = found / spread if spread > 0 else 0.0
        return AdditivityTest(
            p_value=float(ndtr(-statistic)) if spread > 0 else 1.0,
            gain=taken / self._squares if self._squares > 0 else 0.0,
            statistic=statistic,
            pairs=len(self._pairs),
            rows=self._rows[1],
        )


class AdditiveFromRows:
    """The policy's logits and the loggers', (C, q) each, on the contexts of a log with n_j rows."""

    def __init__(
        self, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector, rng: np.random.Generator
    ) -> None:
        self._own = own_additive_weights(logits, logger_logits)
        self._balanced = balanced_additive_weights(logits, logger_logits, counts)
        self._test = AdditivityFromRows(self._own.logger_logits, rng)
        rows = float(counts.sum())
        self.effective_rows = rows**2 / float(self._balanced.second_moment @ counts)
        self.shares = support_shares(self._own, counts)

    def weigh(self, context: NDArray[np.int64], logger: Loggers, action: Actions) -> AdditiveScores:
        """The weights of some rows of the log."""
        own = self._own.of(context, logger, action)
        balanced = self._balanced.of(context, logger, action)
        return AdditiveScores(own, balanced, self.shares, self.effective_rows)

    def test(self, context: NDArray[np.int64], logger: Loggers, action: Actions, residual: Vector) -> None:
        """Show some rows to the test of additivity."""
        self._test.add(context, logger, action, residual)

    def result(self) -> AdditivityTest | None:
        return self._test.result()


def open_additive(
    space: ActionSpace,
    logits: Matrix,
    logger_logits: Sequence[Matrix],
    counts: Vector,
    rng: np.random.Generator,
) -> AdditiveFromRows | None:
    """For label vectors whose loggers are known; None of other logs."""
    if not logger_logits or not space.action_shape:
        return None
    return AdditiveFromRows(logits, logger_logits, counts, rng)
