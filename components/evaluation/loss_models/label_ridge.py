"""The ridge of label vectors, fitted in one streaming pass.

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l ],  t_l = 2 p_l(x) - 1, p_l the policy's own marginals.

It adds up over labels, so E_{y ~ h} q(x, y) is q at y = p(x). It has 3q + 1 numbers whatever the contexts,
so that no matrix of contexts is held. It may be wrong: the estimate stays unbiased all the same.
"""

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import marginals
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.cross_fitting import FREE, RIDGE, Folds, ModelRows


class LabelRidge:
    """Ridge regression of the loss on the terms of each label, by normal equations kept fold by fold."""

    def __init__(self, labels: int, folds: Folds) -> None:
        self._folds = folds
        size, count = 3 * labels + 1, int(folds.max()) + 1
        self._gram = np.zeros((count, size, size))
        self._moment = np.zeros((count, size))
        self._coefficients = np.zeros((count, size))
        self.fitted_rows = 0

    def add(self, rows: ModelRows) -> None:
        """Take some rows into account."""
        fold = self._folds[rows.context]
        terms = label_terms(marginals(rows.logits), rows.action.astype(np.float64))
        for k in np.unique(fold):
            part = terms[fold == k]
            self._gram[k] += part.T @ part
            self._moment[k] += part.T @ rows.delta[fold == k]
        self.fitted_rows += len(fold)

    def fit(self) -> None:
        """One fit a fold, on the rows of all other folds."""
        for k in range(len(self._gram)):
            others = np.arange(len(self._gram)) != k
            self._coefficients[k] = ridge_coefficients(
                self._gram[others].sum(axis=0), self._moment[others].sum(axis=0)
            )

    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by the fit without the row's fold."""
        p = marginals(rows.logits)
        own = self._coefficients[self._folds[rows.context]]
        return ModelledLoss(
            q_logged=np.einsum("ij,ij->i", own, label_terms(p, rows.action.astype(np.float64))),
            q_target=np.einsum("ij,ij->i", own, label_terms(p, p)),
        )


def ridge_coefficients(gram: Matrix, moment: Vector) -> Vector:
    """From Z'Z (k, k) and Z'delta (k,), the first column of Z being 1: (k,)."""
    penalty = RIDGE * np.eye(len(gram))
    penalty[0, 0] = FREE
    return np.asarray(np.linalg.solve(gram + penalty, moment))


def label_terms(p: Matrix, y: Matrix) -> Matrix:
    """(1, t, y, y t) of each row, t = 2p - 1: (n, 3q + 1)."""
    t = 2.0 * p - 1.0
    return np.hstack([np.ones((len(p), 1)), t, y, y * t])
