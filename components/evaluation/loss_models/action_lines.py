"""Least squares with a line per action: what the loss models of one-of-K actions are made of.

q(x, a) = (beta + b_a)'u(x, a),  u = (1, u_1, ..., u_r) with |u| <= 1,

beta being shared by all actions, and b_a what action a has of its own, both shrunk: an action with few rows
has the shared line. Indicators of two actions are never both 1, so Z'Z has a block of r + 1 numbers squared
per action and the shared one, and no table of actions times actions is made, however many there are.
E_{y ~ h} q(x, y) = sum_a h(a|x) q(x, a).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.cross_fitting import FREE, RIDGE, Folds

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
    q_logged, q_target = np.empty(len(action)), np.empty(len(action))
    for k in np.unique(fold):
        own, line = fold == k, lines[k]
        q_logged[own] = np.einsum("ij,ij->i", line[action[own]], logged[own])
        q_target[own] = h[own] @ line[:, 0]
        for number, table in enumerate(terms, start=1):
            q_target[own] += (h[own] * table[own]) @ line[:, number]
    return ModelledLoss(q_logged, q_target)
