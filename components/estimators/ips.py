"""Counterfactual estimators of R(h) from the logs of several loggers (sections 2.1 and 6).

All are sums sum_i a_i w_i delta_i that differ in the coefficient a_i of a row and in the denominator of
its importance weight w_i. Each comes raw, clipped or self-normalised by a `WeightRule`. They are functions of
sums over rows: `WeighedRows` has them from rows in memory, `LoggerMoments` from chunks of a log on disk.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.lambda_star import LoggerStats, update_stats
from multilogger.components.estimators.logged_batch import LoggedBatch, Loggers
from multilogger.components.estimators.weights import RAW, WeightRule, importance_weights, log_mixture

NORMALISATION_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Estimate:
    """An estimated risk and how far to trust it.

    `mean_weight` is sum_i a_i w_i, 1 in expectation: far from 1, the log does not cover the policy.
    `effective_rows` is (sum_i a_i w_i)^2 / sum_i (a_i w_i)^2. `lambdas` are the logger weights used.
    `standard_error` takes rows as independent, and is NaN when a logger has a single row.
    """

    value: float
    standard_error: float
    mean_weight: float
    effective_rows: float
    lambdas: tuple[float, ...]


class Mixed(NamedTuple):
    """sum_i a_i w_i, sum_i a_i w_i (delta_i - centre) and sum_i (a_i w_i)^2, with a_i = lambda_j."""

    weight: float
    loss: float
    squares: float


class RowSums(Protocol):
    """Sums over the rows of a log, with weights relative to `unit` and losses to `centre`."""

    @property
    def unit(self) -> float: ...

    @property
    def centre(self) -> float: ...

    @property
    def counts(self) -> Vector:
        """n_j: (J,)."""

    def mix(self, lambdas: Vector) -> Mixed: ...

    def standard_error(self, lambdas: Vector, risk: float, divisor: float) -> float:
        """sqrt( sum_j lambda_j^2 n_j s2_j ), s2_j the sample variance of w (delta - risk) / divisor."""


def estimate(rows: RowSums, lambdas: Vector, self_normalised: bool = False) -> Estimate:
    """lambda-weighted IPS (section 2.1.1), unbiased for lambdas (J,) fixed beforehand.

    R_lambda = sum_j lambda_j sum_i w delta,  lambda_j >= 0,  sum_j n_j lambda_j = 1,

    divided by sum_j lambda_j sum_i w if self-normalised, with the error of the delta method.
    """
    check_lambdas(rows.counts, lambdas)
    mixed = rows.mix(lambdas)
    if self_normalised:
        # Choice: one normaliser for the whole log, sum_i a_i w_i, not one per logger: a logger that the
        # policy has left then fades out, where dividing by its own mean weight would blow its few rows up.
        check_support(mixed.weight, int(rows.counts.sum()))
        value = rows.centre + mixed.loss / mixed.weight
        error = rows.standard_error(lambdas, value, mixed.weight)
    else:
        value = (mixed.loss + rows.centre * mixed.weight) * rows.unit
        error = rows.standard_error(lambdas, 0.0, 1.0) * rows.unit
    return Estimate(
        value=value,
        standard_error=error,
        mean_weight=mixed.weight * rows.unit,
        effective_rows=mixed.weight**2 / mixed.squares if mixed.squares > 0 else 0.0,
        lambdas=tuple(lambdas.tolist()),
    )


def equal_estimate(rows: RowSums, self_normalised: bool = False) -> Estimate:
    """The same with lambda_j = 1/n: naive IPS for weights h/h_j, balanced IPS for weights h/h_avg."""
    return estimate(rows, equal_lambdas(rows.counts), self_normalised)


def equal_lambdas(counts: Vector) -> Vector:
    """lambda_j = 1/n of loggers with n_j rows each: (J,)."""
    return np.full(len(counts), 1.0 / counts.sum())


def mixed_risk(shares: Vector, mean_u: Vector, mean_w: Vector | None = None) -> Vector:
    """The value alone, from the means of u = w delta within each logger: (...,) from (..., J) each.

    sum_j n_j lambda_j mean_u_j, divided by sum_j n_j lambda_j mean_w_j if `mean_w` is given
    """
    risk = np.vecdot(shares, mean_u)
    return np.asarray(risk if mean_w is None else risk / np.vecdot(shares, mean_w))


@dataclass(frozen=True)
class WeighedRows:
    """Rows in memory: logger from 0, weight (clipped already if it is to be) and loss of each, (n,) each."""

    logger: Loggers
    weights: Vector
    delta: Vector
    counts: Vector
    unit: float = 1.0
    centre: float = 0.0

    def shares(self, lambdas: Vector) -> Vector:
        """a_i w_i of each row: (n,)."""
        return np.asarray(lambdas[self.logger] * self.weights, dtype=np.float64)

    def mix(self, lambdas: Vector) -> Mixed:
        shares = self.shares(lambdas)
        return Mixed(float(shares.sum()), float(shares @ self.delta), float(shares @ shares))

    def standard_error(self, lambdas: Vector, risk: float, divisor: float) -> float:
        if (self.counts < 2).any():
            return math.nan
        terms = self.weights * (self.delta - risk) / divisor
        variances = np.array([np.var(terms[self.logger == j], ddof=1) for j in range(len(lambdas))])
        return math.sqrt(float(np.sum(lambdas**2 * self.counts * variances)))


def own_rows(batch: LoggedBatch, clip: float = math.inf) -> WeighedRows:
    """Rows with weights h/h_j."""
    weights = importance_weights(batch.log_target, batch.log_propensity, clip)
    return WeighedRows(batch.logger, weights, batch.delta, batch.counts)


def balanced_rows(batch: LoggedBatch, clip: float = math.inf) -> WeighedRows:
    """Rows with weights h/h_avg,  h_avg = sum_j (n_j/n) h_j  (section 6)."""
    if batch.log_propensities is None:
        raise BadInput(
            "the balanced estimator needs the log propensity of each action under every logger, "
            "got only that under its own; fill log_propensities, or use the naive or weighted estimator"
        )
    log_average = log_mixture(batch.log_propensities, batch.counts)
    weights = importance_weights(batch.log_target, log_average, clip)
    return WeighedRows(batch.logger, weights, batch.delta, batch.counts)


def lambda_weighted_risk(batch: LoggedBatch, lambdas: Vector, rule: WeightRule = RAW) -> Estimate:
    """R_lambda with weights h/h_j (section 2.1.1)."""
    return estimate(own_rows(batch, rule.clip), lambdas, rule.self_normalised)


def logger_stats(batch: LoggedBatch, clip: float = math.inf) -> tuple[LoggerStats, ...]:
    """The sufficient statistics of lambda* for a log that fits in memory, one entry per logger."""
    rows = own_rows(batch, clip)
    return update_stats((LoggerStats(),) * batch.loggers, rows.logger, rows.weights, rows.delta)


def check_lambdas(counts: Vector, lambdas: Vector) -> None:
    """Refuse logger weights that do not add up to one over the rows of a log."""
    if lambdas.shape != counts.shape:
        raise BadInput(
            f"one lambda per logger is needed, got shape {lambdas.shape} for {len(counts)} loggers"
        )
    total = float(np.sum(counts * lambdas))
    if not (lambdas >= 0).all() or abs(total - 1.0) > NORMALISATION_TOLERANCE:
        raise BadInput(
            f"lambdas must be at least 0 with sum_j n_j lambda_j = 1, got {lambdas.tolist()} "
            f"with sum {total:g}; divide them by that sum"
        )


def check_support(mean_weight: float, rows: int) -> None:
    """Refuse to normalise by weights that are all 0."""
    if mean_weight == 0:
        raise BadInput(
            f"a self-normalised risk needs one row that the policy could have taken, got weight 0 in "
            f"all {rows}; the policy and the log have no action in common"
        )
