"""The ridge of one-of-K actions, fitted in one streaming pass.

q(x, a) = (c + c_a) + (d + d_a) h(a|x),  h the policy itself.

E_{y ~ h} q(x, y) = sum_a h(a|x) q(x, a). It holds five sums per action and fold, so memory grows with K and
not with its square: every K has the same terms. It may be wrong: the estimate stays unbiased all the same.
"""

import numpy as np

from multilogger.components.actions.one_of import log_probability, probabilities
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.action_lines import LineSums, line_losses, term_rows
from multilogger.components.evaluation.loss_models.cross_fitting import Folds, ModelRows


class ChoiceRidge:
    """Ridge regression of the loss on a line in h(a|x) per action, by sums kept fold by fold."""

    def __init__(self, actions: int, folds: Folds) -> None:
        self._folds, self._actions = folds, actions
        self._count = int(folds.max()) + 1
        shape = (self._count, actions)
        self._sums = LineSums(np.zeros((*shape, 2, 2)), np.zeros((*shape, 2)))
        self._lines = np.zeros((*shape, 2))
        self.fitted_rows = 0

    def add(self, rows: ModelRows) -> None:
        """Take some rows into account."""
        u = term_rows([np.exp(log_probability(rows.logits, rows.action))])
        cell = self._folds[rows.context] * self._actions + rows.action
        found = LineSums.of(u, rows.delta, cell, self._count * self._actions)
        self._sums.gram[...] += found.gram.reshape(self._sums.gram.shape)
        self._sums.moment[...] += found.moment.reshape(self._sums.moment.shape)
        self.fitted_rows += len(u)

    def fit(self) -> None:
        """One fit per fold, on the rows of all other folds."""
        for k in range(self._count):
            self._lines[k] = self._sums.without(k).lines()

    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by the fit without the row's fold."""
        h = probabilities(rows.logits)
        return line_losses(self._lines, self._folds[rows.context], rows.action, h, [h])
