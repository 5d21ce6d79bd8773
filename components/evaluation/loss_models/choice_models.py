"""The loss models of one-of-K actions: least squares with a line per action, without a network or with one.

q(x, a) = (beta + b_a)'u(x, a),  u = (1, u_1, ..., u_r) with |u| <= 1,

beta being shared by all actions, and b_a what action a has of its own, both shrunk: an action with few rows
has the shared line. Indicators of two actions are never both 1, so Z'Z has a block of r + 1 numbers squared
per action and the shared one, and no table of actions times actions is made, however many there are.
E_{y ~ h} q(x, y) = sum_a h(a|x) q(x, a).

The ridge, fitted in one streaming pass, has u = (1, h(a|x)), h the policy itself. It holds five sums per
action and fold, so memory grows with K and not with its square: every K has the same terms. It may be wrong:
the estimate stays unbiased all the same. The network's has u = (1, h(a|x), p_a(x)), p_a the chance that
action a is right: the network sees the features themselves, the ridge says how far to believe it, and lets
the loss be of any height and scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import log_softmax

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.one_of import BLOCK_NUMBERS, log_probability, probabilities
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.cross_fitting import FREE, RIDGE, Folds, ModelRows
from multilogger.components.evaluation.loss_models.pair_networks import (
    FIT,
    BlindToPairs,
    PairNetworks,
    RowSample,
)
from multilogger.components.learners.loss_models.choice import ChoiceModel, log_complement
from multilogger.components.learners.loss_models.pair_sums import PairSums
from multilogger.components.learners.loss_models.settings import LossModelSettings

Grams = NDArray[np.float64]


@dataclass(frozen=True)
class LineSums:
    """u u' and u delta summed over the rows of each action: (..., K, r + 1, r + 1) and (..., K, r + 1)."""

    gram: Grams
    moment: Grams

    @classmethod
    def of(cls, u: Matrix, delta: Vector, cell: NDArray[np.int64], cells: int) -> "LineSums":
        """Of rows with terms u (n, r + 1), each in one of some cells."""
        width = u.shape[1]
        gram, moment = np.empty((cells, width, width)), np.empty((cells, width))
        for i in range(width):
            moment[:, i] = np.bincount(cell, u[:, i] * delta, minlength=cells)
            for j in range(i + 1):
                gram[:, i, j] = gram[:, j, i] = np.bincount(cell, u[:, i] * u[:, j], minlength=cells)
        return cls(gram, moment)

    def without(self, fold: int) -> "LineSums":
        """Of sums by fold (folds, K, ...), those of all other folds: (K, ...)."""
        others = np.arange(len(self.gram)) != fold
        return LineSums(self.gram[others].sum(axis=0), self.moment[others].sum(axis=0))

    def lines(self) -> Matrix:
        """beta + b_a of each action: (K, r + 1).

        With S_a = u u' of action a and m_a = u delta, b_a = (S_a + R)^-1 (m_a - S_a beta), R the pull; put
        into the shared equations, sum_a R (S_a + R)^-1 S_a beta + P beta = sum_a R (S_a + R)^-1 m_a.
        """
        width = self.gram.shape[-1]
        pull = RIDGE * np.eye(width)
        shrunk = self.gram + pull
        left = np.linalg.solve(shrunk, np.concatenate([self.gram, self.moment[..., None]], axis=-1))
        penalty = np.diag([FREE, *[RIDGE] * (width - 1)])
        shared = RIDGE * left.sum(axis=0)
        beta = np.linalg.solve(shared[:, :-1] + penalty, shared[:, -1])
        return np.asarray(beta + left[:, :, -1] - left[:, :, :-1] @ beta)


def term_rows(terms: Sequence[Vector]) -> Matrix:
    """u = (1, u_1, ...) of rows, from the values (n,) of each term: (n, r + 1)."""
    return np.stack([np.ones(len(terms[0])), *terms], axis=1)


def line_losses(
    lines: NDArray[np.float64], fold: Folds, action: Actions, h: Matrix, terms: Sequence[Matrix]
) -> ModelledLoss:
    """q at the logged actions and under the policy h (n, K), by the lines (folds, K, r + 1) of its fold.

    `terms` are u_1, ... of every action: (n, K) each.
    """
    rows = np.arange(len(action))
    logged = term_rows([table[rows, action] for table in terms])
    q_logged = np.einsum("ij,ij->i", lines[fold, action], logged)
    # By the lines of all folds, of which each row takes its own: cheaper than picking rows.
    q_target = (h @ lines[:, :, 0].T)[rows, fold]
    for number, table in enumerate(terms, start=1):
        q_target += ((h * table) @ lines[:, :, number].T)[rows, fold]
    return ModelledLoss(q_logged, q_target)


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
        h = probabilities(rows.logits) if rows.chances is None else rows.chances
        return line_losses(self._lines, self._folds[rows.context], rows.action, h, [h])


class ChoicePairs(BlindToPairs, ChoiceModel):
    """Networks of which each learns from every row by itself."""

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        """-mean_i [ (1 - delta_i) log p_a + delta_i log(1 - p_a) ] over the rows of some groups.

        Choice: row by row, for losses of any kind, whatever a learner makes of a context's rows. What
        kind they are could only be told from the losses of all folds, which no fold may see.
        """
        log_p = log_softmax(outputs, dim=1).gather(1, self.action[groups])
        right, wrong = self.right[groups], self.wrong[groups]
        value = right * log_p + wrong * log_complement(log_p)
        return -value.sum() / (right + wrong).sum()


class ChoiceNetwork(PairNetworks[LossModelSettings]):
    """Choice networks, and a line per action."""

    settings = FIT

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows; of the policy, its chance of the logged action alone."""
        h = np.exp(log_probability(rows.logits, rows.action))
        super().add(replace(rows, logits=h[:, None]))

    def predict(self, rows: ModelRows) -> ModelledLoss:
        p, h = self.chances(rows), probabilities(rows.logits)
        return line_losses(self._coefficients, self._shape.folds[rows.context], rows.action, h, [h, p])

    def _open(self, x: Tensor, sample: RowSample, fold: Tensor, settings: LossModelSettings) -> ChoicePairs:
        share = sample.delta / self._shape.max_loss
        sums = PairSums.of([(sample.context, sample.action, share)], self._shape.size)
        return ChoicePairs(x, sums, self._shape.size, settings, self._generator, fold)

    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> NDArray[np.float64]:
        """The lines of each fold, from rows of all the others: (folds, K, 3)."""
        fold, h = self._shape.folds[sample.kept][sample.context], sample.logits[:, 0]
        by_pair = [
            self._logged_chances(i, x, sample, np.isin(fold, pair)) for i, pair in enumerate(self._pairs)
        ]
        found = []
        for k in range(int(self._shape.folds.max()) + 1):
            p = np.zeros_like(h)
            for j in np.unique(fold[fold != k]):
                p[fold == j] = by_pair[self._pair_of(j, k)][fold == j]
            rows = fold != k
            u = term_rows([h[rows], p[rows]])
            sums = LineSums.of(u, sample.delta[rows], sample.action[rows], self._shape.size)
            found.append(sums.lines())
        return np.stack(found)

    def _logged_chances(self, member: int, x: Tensor, sample: RowSample, chosen: NDArray[np.bool_]) -> Vector:
        """p_a(x) of the logged actions of some rows by one network, 0 of the others: (n,)."""
        found = np.zeros(len(sample.action))
        size = max(1, BLOCK_NUMBERS // self._shape.size)
        rows = np.flatnonzero(chosen)
        for start in range(0, len(rows), size):
            here = rows[start : start + size]
            p = self._chances_of(member, x[sample.context[here]])
            found[here] = p[np.arange(len(here)), sample.action[here]]
        return found
