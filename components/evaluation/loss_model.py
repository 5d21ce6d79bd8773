"""A model of the loss for the doubly robust estimate, fitted in one streaming pass and cross-fitted.

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l ],  t_l = 2 p_l(x) - 1, p_l the policy's own marginals.

It adds up over labels, so E_{y ~ h} q(x, y) is q at y = p(x). It has 3q + 1 numbers whatever the contexts,
so that no matrix of contexts is held. It may be wrong: the estimate stays unbiased all the same.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.doubly_robust import ModelledLoss
from multilogger.components.policies import Actions, Matrix, Vector, marginals

FOLDS = 5
RIDGE = 1.0  # in rows: terms lie in [-1, 1], so one row's worth of pull towards 0

Folds = NDArray[np.int64]


class CrossFitted(Protocol):
    """A model that sees batches, is fitted once, and predicts each row from the folds it is not in."""

    def add(self, fold: Folds, logits: Matrix, action: Actions, delta: Vector) -> None: ...

    def fit(self) -> None: ...

    def predict(self, fold: Folds, logits: Matrix, action: Actions) -> ModelledLoss: ...


def draw_folds(contexts: int, rng: np.random.Generator) -> Folds:
    """A fold for each context, of sizes as equal as can be: (contexts,)."""
    return rng.permutation(contexts) % min(FOLDS, contexts)


@dataclass
class LabelRidge:
    """Ridge regression of the loss on the terms of each label, by normal equations kept fold by fold."""

    labels: int
    folds: int = FOLDS

    def __post_init__(self) -> None:
        size = 3 * self.labels + 1
        self._gram = np.zeros((self.folds, size, size))
        self._moment = np.zeros((self.folds, size))
        self._coefficients = np.zeros((self.folds, size))

    def add(self, fold: Folds, logits: Matrix, action: Actions, delta: Vector) -> None:
        """Take a batch into account: logits (m, q) of the policy, logged actions and their losses."""
        terms = label_terms(marginals(logits), action.astype(np.float64))
        for k in np.unique(fold):
            part = terms[fold == k]
            self._gram[k] += part.T @ part
            self._moment[k] += part.T @ delta[fold == k]

    def fit(self) -> None:
        """One fit a fold, on the rows of all other folds."""
        penalty = RIDGE * np.eye(self._gram.shape[1])
        penalty[0, 0] = 1e-9  # the mean loss is not shrunk
        for k in range(self.folds):
            others = np.arange(self.folds) != k
            gram, moment = self._gram[others].sum(axis=0), self._moment[others].sum(axis=0)
            self._coefficients[k] = np.linalg.solve(gram + penalty, moment)

    def predict(self, fold: Folds, logits: Matrix, action: Actions) -> ModelledLoss:
        """q at the logged actions and under the policy, by the fit without the row's fold."""
        p = marginals(logits)
        own = self._coefficients[fold]
        return ModelledLoss(
            q_logged=np.einsum("ij,ij->i", own, label_terms(p, action.astype(np.float64))),
            q_target=np.einsum("ij,ij->i", own, label_terms(p, p)),
        )


def label_terms(p: Matrix, y: Matrix) -> Matrix:
    """(1, t, y, y t) of each row, t = 2p - 1: (n, 3q + 1)."""
    t = 2.0 * p - 1.0
    return np.hstack([np.ones((len(p), 1)), t, y, y * t])
