"""Counterfactual estimators of R(h) from the logs of several loggers (sections 2.1 and 6).

All are sums sum_i a_i w_i delta_i that differ in the coefficient a_i of a row and in the denominator of
its importance weight w_i. Each comes raw, clipped or self-normalised by a `WeightRule`.
"""

import math
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.labels import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.lambda_star import (
    Divergence,
    LoggerStats,
    lambda_star,
    self_normalised_divergence,
    update_stats,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
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


def naive_risk(batch: LoggedBatch, rule: WeightRule = RAW) -> Estimate:
    """Naive IPS (section 2.1.1).

    R_naive = (1/n) sum_j sum_i h/h_j delta
    """
    return lambda_weighted_risk(batch, np.full(batch.loggers, 1.0 / batch.rows), rule)


def lambda_weighted_risk(batch: LoggedBatch, lambdas: Vector, rule: WeightRule = RAW) -> Estimate:
    """lambda-weighted IPS (section 2.1.1), unbiased for lambdas fixed beforehand.

    R_lambda = sum_j lambda_j sum_i h/h_j delta,  lambda_j >= 0,  sum_j n_j lambda_j = 1
    """
    check_lambdas(batch, lambdas)
    weights = importance_weights(batch.log_target, batch.log_propensity, rule.clip)
    return _estimate(batch, weights, lambdas, rule)


def weighted_risk(
    batch: LoggedBatch, rule: WeightRule = RAW, divergence: Divergence = self_normalised_divergence
) -> Estimate:
    """Weighted IPS: R_lambda at lambda* (section 2.1.1), with lambda* estimated on the same rows."""
    return lambda_weighted_risk(batch, lambda_star(logger_stats(batch, rule.clip), divergence), rule)


def balanced_risk(batch: LoggedBatch, rule: WeightRule = RAW) -> Estimate:
    """Balanced IPS (section 6).

    R_bal = (1/n) sum_j sum_i h/h_avg delta,  h_avg = sum_j (n_j/n) h_j
    """
    if batch.log_propensities is None:
        raise BadInput(
            "the balanced estimator needs the log propensity of each action under every logger, "
            "got only that under its own; fill log_propensities, or use the naive or weighted estimator"
        )
    log_average = log_mixture(batch.log_propensities, batch.counts)
    weights = importance_weights(batch.log_target, log_average, rule.clip)
    return _estimate(batch, weights, np.full(batch.loggers, 1.0 / batch.rows), rule)


def logger_stats(batch: LoggedBatch, clip: float = math.inf) -> tuple[LoggerStats, ...]:
    """The sufficient statistics of lambda* for a log that fits in memory, one entry a logger."""
    weights = importance_weights(batch.log_target, batch.log_propensity, clip)
    return update_stats((LoggerStats(),) * batch.loggers, batch.logger, weights, batch.delta)


def _estimate(batch: LoggedBatch, weights: Vector, lambdas: Vector, rule: WeightRule) -> Estimate:
    shares = lambdas[batch.logger] * weights
    mean_weight = float(shares.sum())
    value = float(shares @ batch.delta)
    terms = weights * batch.delta
    if rule.self_normalised:
        # Choice: one normaliser for the whole log, sum_i a_i w_i, not one a logger: a logger that the policy
        # has left then fades out, where dividing by its own mean weight would blow its few rows up.
        check_support(mean_weight, batch.rows)
        value /= mean_weight
        terms = weights * (batch.delta - value) / mean_weight  # delta method
    squares = float(shares @ shares)
    return Estimate(
        value=value,
        standard_error=_standard_error(batch, terms, lambdas),
        mean_weight=mean_weight,
        effective_rows=mean_weight**2 / squares if squares > 0 else 0.0,
        lambdas=tuple(lambdas.tolist()),
    )


def _standard_error(batch: LoggedBatch, terms: Vector, lambdas: Vector) -> float:
    """sqrt( sum_j lambda_j^2 n_j s2_j ), s2_j the sample variance of the terms of logger j."""
    if (batch.counts < 2).any():
        return math.nan
    variances = np.array([np.var(terms[batch.logger == j], ddof=1) for j in range(batch.loggers)])
    return math.sqrt(float(np.sum(lambdas**2 * batch.counts * variances)))


def check_lambdas(batch: LoggedBatch, lambdas: Vector) -> None:
    """Refuse logger weights that do not add up to one over the rows of a log."""
    if lambdas.shape != (batch.loggers,):
        raise BadInput(
            f"one lambda a logger is needed, got shape {lambdas.shape} for {batch.loggers} loggers"
        )
    total = float(np.sum(batch.counts * lambdas))
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
