"""Weights that add up over labels, of the rows of a log under a policy, filled in as the rows are read."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.additive_weights import (
    balanced_additive_weights,
    own_additive_weights,
    support_shares,
)
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.additivity import AdditivityFromRows
from multilogger.components.evaluation.context_sums import AdditiveScores
from multilogger.components.learners.loss_models.additivity import AdditivityTest


class AdditiveFromRows:
    """The policy's logits and the loggers', (C, q) each, on the contexts of a log with n_j rows."""

    def __init__(
        self, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector, rng: np.random.Generator
    ) -> None:
        self._own = own_additive_weights(logits, logger_logits)
        self._balanced = balanced_additive_weights(logits, logger_logits, counts)
        self._test = AdditivityFromRows(self._own.logger_logits, rng)
        rows = int(counts.sum())
        moment = float(self._balanced.second_moment @ counts) / rows
        self.scores = AdditiveScores(
            np.empty(rows), np.empty(rows), support_shares(self._own, counts), rows / moment
        )

    def fill(self, at: slice, context: NDArray[np.int64], logger: Loggers, action: Actions) -> None:
        """Weigh some rows of the log."""
        self.scores.own[at] = self._own.of(context, logger, action)
        self.scores.balanced[at] = self._balanced.of(context, logger, action)

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
