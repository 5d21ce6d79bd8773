"""The loss models of label vectors: a ridge, and the additive-loss network in one.

The ridge, fitted in one streaming pass, is

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l ],  t_l = 2 p_l(x) - 1, p_l the policy's own marginals.

It adds up over labels, so E_{y ~ h} q(x, y) is q at y = p(x). It has 3q + 1 numbers whatever the contexts,
so that no matrix of contexts is held. It may be wrong: the estimate stays unbiased all the same.

The network's is the same ridge with terms of the additive network p beside those of the policy,

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l + e_l s_l + f_l y_l s_l ],  s_l = 2 p_l(x) - 1:

the network sees the features themselves, the ridge says how far to believe it, and lets the loss be of any
height and scale. It adds up over labels as well, so E_{y ~ h} q(x, y) is q at y = h's marginals.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import marginals
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.cross_fitting import FREE, RIDGE, Folds, ModelRows
from multilogger.components.evaluation.loss_models.pair_networks import (
    FIT,
    BlindToPairs,
    PairNetworks,
    RowSample,
)
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import GroupedRows
from multilogger.components.learners.loss_models.settings import AdditiveSettings


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
        p = marginals(rows.logits) if rows.chances is None else rows.chances
        own = np.arange(len(p)), self._folds[rows.context]  # all folds' predictions are cheaper than picking
        logged = label_terms(p, rows.action.astype(np.float64)) @ self._coefficients.T
        return ModelledLoss(logged[own], (label_terms(p, p) @ self._coefficients.T)[own])


def ridge_coefficients(gram: Matrix, moment: Vector) -> Vector:
    """From Z'Z (k, k) and Z'delta (k,), the first column of Z being 1: (k,)."""
    penalty = RIDGE * np.eye(len(gram))
    penalty[0, 0] = FREE
    return np.asarray(np.linalg.solve(gram + penalty, moment))


def label_terms(p: Matrix, y: Matrix) -> Matrix:
    """(1, t, y, y t) of each row, t = 2p - 1: (n, 3q + 1)."""
    t = 2.0 * p - 1.0
    return np.hstack([np.ones((len(p), 1)), t, y, y * t])


class AdditivePairs(BlindToPairs, AdditiveModel):
    """Networks of which each learns the loggers' noise from its own rows."""

    _noises: Sequence[Tensor] = ()

    def noise_for(self, k: int) -> Tensor:
        return self._noises[k] if self._noises else self.noise

    def estimate_noise(self) -> None:
        self._noises = [self.excess_noise(self.member(k), self.seen_by(k)) for k in range(len(self.members))]


class AdditiveNetwork(PairNetworks[AdditiveSettings]):
    """Additive networks, and a ridge of the terms of labels."""

    settings = AdditiveSettings(**vars(FIT), working_noise=0.02)

    def predict(self, rows: ModelRows) -> ModelledLoss:
        p, h = self.chances(rows), marginals(rows.logits)
        own = self._coefficients[self._shape.folds[rows.context]]
        return ModelledLoss(
            q_logged=np.einsum("ij,ij->i", own, joint_terms(h, p, rows.action.astype(np.float64))),
            q_target=np.einsum("ij,ij->i", own, joint_terms(h, p, h)),
        )

    def _open(self, x: Tensor, sample: RowSample, fold: Tensor, settings: AdditiveSettings) -> AdditivePairs:
        labels = self._shape.size
        scaled = replace(sample, delta=sample.delta * labels / self._shape.max_loss)
        return AdditivePairs(x, GroupedRows(scaled), labels, settings, self._generator, fold)

    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> Matrix:
        """The coefficients of each fold, from rows of all the others: (folds, 5q + 1)."""
        tables = [self._chances_of(i, x) for i in range(len(self._pairs))]
        fold = self._shape.folds[sample.kept][sample.context]
        h, y = marginals(sample.logits), sample.action.astype(np.float64)
        found = []
        for k in range(int(self._shape.folds.max()) + 1):
            p = np.empty_like(h)
            for j in np.unique(fold[fold != k]):
                rows = fold == j
                p[rows] = tables[self._pair_of(j, k)][sample.context[rows]]
            rows = fold != k
            terms = joint_terms(h[rows], p[rows], y[rows])
            found.append(ridge_coefficients(terms.T @ terms, terms.T @ sample.delta[rows]))
        return np.stack(found)


def joint_terms(h: Matrix, p: Matrix, y: Matrix) -> Matrix:
    """The terms of the policy's marginals h and of the network's p at y, all (n, q): (n, 5q + 1)."""
    s = 2.0 * p - 1.0
    return np.hstack([label_terms(h, y), s, y * s])
