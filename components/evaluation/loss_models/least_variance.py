"""SMRDR: the loss model whose doubly robust estimate of the policy varies least (Kallus et al., 2021).

A ridge asks how near q is to the loss. This asks how much the estimate varies that q leads to. With
b = h/h_avg and q(x, y) = z(x, y)'beta, a row is worth

psi = E_{y ~ h} q(x, y) + b (delta - q(x, y)) = b delta - u'beta,  u = b z(x, y) - E_{y ~ h} z(x, y),

and the mean of psi over n_j rows of each logger j has the variance (1/n) sum_j (n_j/n) Var_j psi. Loggers are
the strata: how many rows each has is fixed. So beta minimises

sum_j sum_{i in j} (b_i delta_i - abar_j - (u_i - ubar_j)'beta)^2,

abar_j and ubar_j the logger's own means: least squares of weighted losses on control variates. The mean of u
over all loggers is 0 for every beta, so the estimate stays unbiased. With one logger this is the objective of
Farajtabar, Chow and Ghavamzadeh (2018, MRDR).

Rows of large weight decide, and they are few. So beta is drawn to that of the ridge, by the pull that gives
the least variance on contexts that a fit has not seen. The ridge itself is one of the candidates.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector, row_blocks
from multilogger.components.actions.labels import marginals
from multilogger.components.actions.one_of import probabilities
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.evaluation.loss_models.cross_fitting import LogShape, ModelRows
from multilogger.components.evaluation.loss_models.label_models import label_terms, ridge_coefficients

PULLS = 10.0 ** np.arange(0.5, 4.25, 0.5)  # in rows of mean squared weight
FEWEST_FOLDS = 3  # or no context is left to choose the pull on
MOST_SIZE = 200  # labels, or actions: tables have (3 q + 1)^2 or (2 K + 2)^2 numbers per fold

Sums = NDArray[np.float64]


@dataclass(frozen=True)
class TermRows:
    """z at the logged actions, and E_{y ~ h} z, of some rows: (n, k) each."""

    logged: Matrix
    target: Matrix


class Terms(Protocol):
    """What q is linear in, for one kind of actions."""

    def width(self, size: int) -> int:
        """k."""

    def of(self, rows: ModelRows) -> TermRows: ...


class LabelTerms:
    """Those of the ridge of label vectors, z = (1, t, y, y t) with t = 2p - 1: E z is z at y = p."""

    def width(self, size: int) -> int:
        return 3 * size + 1

    def of(self, rows: ModelRows) -> TermRows:
        p = marginals(rows.logits) if rows.chances is None else rows.chances
        return TermRows(label_terms(p, rows.action.astype(np.float64)), label_terms(p, p))


class ChoiceTerms:
    """Those of the ridge of one-of-K actions, z = (1, h_a, e_a, h_a e_a), e_a the indicator of action a."""

    def width(self, size: int) -> int:
        return 2 * size + 2

    def of(self, rows: ModelRows) -> TermRows:
        h = probabilities(rows.logits) if rows.chances is None else rows.chances
        one, chosen = np.ones((len(h), 1)), np.zeros_like(h)
        chosen[np.arange(len(h)), rows.action] = 1.0
        taken, squares = chosen * h, h * h
        return TermRows(
            np.hstack([one, taken.sum(axis=1, keepdims=True), chosen, taken]),
            np.hstack([one, squares.sum(axis=1, keepdims=True), h, squares]),
        )


@dataclass(frozen=True)
class VarianceSums:
    """Sums over rows, by fold: what the variance of the estimate is as a function of beta, and the ridge.

    With v = (u, b delta) of k + 1 numbers, `gram` (F, k + 1, k + 1) has v v', and `means` (F, J, k + 1) the
    sums of v by logger, of `rows` (F, J) rows. `squares` (F,) has b^2; `plain` (F, k + 1, k + 1) has the
    products of (z, delta).
    """

    gram: Sums
    means: Sums
    rows: Sums
    squares: Vector
    plain: Sums

    @classmethod
    def empty(cls, folds: int, loggers: int, width: int) -> "VarianceSums":
        square = (folds, width + 1, width + 1)
        return cls(
            np.zeros(square),
            np.zeros((folds, loggers, width + 1)),
            np.zeros((folds, loggers)),
            np.zeros(folds),
            np.zeros(square),
        )

    def add(
        self, fold: int, logger: NDArray[np.int64], terms: TermRows, weight: Vector, delta: Vector
    ) -> None:
        """Some rows of one fold."""
        z = np.hstack([terms.logged, delta[:, None]])
        v = weight[:, None] * z
        v[:, :-1] -= terms.target
        self.gram[fold] += v.T @ v
        self.plain[fold] += z.T @ z
        self.squares[fold] += weight @ weight
        for j in np.unique(logger):
            self.means[fold, j] += v[logger == j].sum(axis=0)
            self.rows[fold, j] += np.sum(logger == j)

    def centred(self, folds: NDArray[np.int64]) -> Matrix:
        """sum_j sum_{i in j} (v_i - vbar_j)(v_i - vbar_j)' over the rows of some folds: (k + 1, k + 1)."""
        means, rows = self.means[folds].sum(axis=0), self.rows[folds].sum(axis=0)
        shifts = means / np.sqrt(np.maximum(rows, 1.0))[:, None]
        return np.asarray(self.gram[folds].sum(axis=0) - shifts.T @ shifts)

    def fits(self, folds: NDArray[np.int64], pulls: Vector) -> Matrix:
        """beta of the rows of some folds for every pull, and last that of the ridge: (pulls + 1, k).

        beta = beta_ridge + (C + pull b2 1)^-1 (c - C beta_ridge), with C and c the centred sums and b2 the
        mean squared weight, but 1 at least, as it is in expectation.
        """
        plain = self.plain[folds].sum(axis=0)
        ridge = ridge_coefficients(plain[:-1, :-1], plain[:-1, -1])
        centred = self.centred(folds)
        values, vectors = np.linalg.eigh(centred[:-1, :-1])
        left = vectors.T @ (centred[:-1, -1] - centred[:-1, :-1] @ ridge)
        scale = max(1.0, self.squares[folds].sum() / self.rows[folds].sum())
        shrunk = left / (np.maximum(values, 0.0) + scale * pulls[:, None])
        return np.vstack([ridge + shrunk @ vectors.T, ridge])

    def variation(self, folds: NDArray[np.int64], beta: Matrix) -> Vector:
        """sum_j sum_{i in j} (psi_i - psibar_j)^2 over the rows of some folds, for each beta (c, k): (c,)."""
        direction = np.hstack([-beta, np.ones((len(beta), 1))])
        return np.asarray(np.einsum("ci,ij,cj->c", direction, self.centred(folds), direction))


class LeastVariance:
    """The model of some terms, by sums kept fold by fold; it needs the weights h/h_avg of its rows."""

    def __init__(self, terms: Terms, shape: LogShape) -> None:
        if shape.size > MOST_SIZE:
            raise BadInput(
                f"the loss model 'smrdr' of dr is for {MOST_SIZE} labels or actions at most, the policy has "
                f"{shape.size}; choose ridge"
            )
        self._terms, self._folds = terms, shape.folds
        self._count, width = int(shape.folds.max()) + 1, terms.width(shape.size)
        self._sums = VarianceSums.empty(self._count, shape.loggers, width)
        self.coefficients = np.zeros((self._count, width))
        self._width = width
        self.fitted_rows = 0

    def add(self, rows: ModelRows) -> None:
        """Take some rows into account."""
        if rows.log_weight is None:
            raise BadInput(
                "the loss model 'smrdr' of dr needs the propensities of each action under every logger, "
                "which the log lacks; choose ridge"
            )
        weight = importance_weights(rows.log_weight, np.zeros_like(rows.log_weight))
        fold = self._folds[rows.context]
        for k in np.unique(fold):
            own = np.flatnonzero(fold == k)
            for block in row_blocks(len(own), self._width):
                at = own[block]
                part = rows.at(at)
                self._sums.add(int(k), part.logger, self._terms.of(part), weight[at], part.delta)
        self.fitted_rows += len(fold)

    def fit(self) -> None:
        """One fit per fold on the rows of all others, which choose its pull among themselves."""
        for k in range(self._count):
            others = np.delete(np.arange(self._count), k)
            self.coefficients[k] = self._sums.fits(others, PULLS)[self._choice(others)]

    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by the fit without the row's fold."""
        logged, target = np.empty(len(rows.delta)), np.empty(len(rows.delta))
        own = self.coefficients[self._folds[rows.context]]
        for here in row_blocks(len(logged), self._width):
            terms = self._terms.of(rows.at(here))
            logged[here] = np.einsum("ij,ij->i", own[here], terms.logged)
            target[here] = np.einsum("ij,ij->i", own[here], terms.target)
        return ModelledLoss(logged, target)

    def _choice(self, folds: NDArray[np.int64]) -> int:
        """The pull that varies least on each of some folds by the fit of the others; -1 is the ridge."""
        if self._count < FEWEST_FOLDS:
            return -1
        left = [self._sums.fits(folds[folds != j], PULLS) for j in folds]
        found = [self._sums.variation(np.array([j]), beta) for j, beta in zip(folds, left, strict=True)]
        return int(np.argmin(np.sum(found, axis=0)))
