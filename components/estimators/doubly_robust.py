"""Doubly robust estimators of R(h) from the logs of several loggers: a model of the loss, and weights.

R_dr = (1/n) sum_i E_{y ~ h} q(x_i, y) + sum_i a_i w_i (delta_i - q(x_i, y_i)),  sum_i a_i = 1.

The mean is right when the model q is right, whatever the weights, and when the weights are right, whatever
the model, provided that q was not fitted on the rows at hand. q = 0 gives the estimators of `estimators.py`.
"""

import math
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.labels import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import Estimate, check_lambdas, check_support
from multilogger.components.estimators.logged_batch import LoggedBatch, Loggers
from multilogger.components.estimators.weights import RAW, WeightRule, importance_weights, log_mixture


@dataclass(frozen=True)
class ModelledLoss:
    """What a model says of each row: q(x_i, y_i) at the logged action, and E_{y ~ h} q(x_i, y): (n,) each.

    The model must come from other rows, or from folds that leave the row's context out.
    """

    q_logged: Vector
    q_target: Vector

    def __post_init__(self) -> None:
        if self.q_logged.shape != self.q_target.shape or self.q_logged.ndim != 1:
            raise BadInput(
                "a model gives one loss a row at the logged action and one under the policy, got shapes "
                f"{self.q_logged.shape} and {self.q_target.shape}"
            )
        if not (np.isfinite(self.q_logged).all() and np.isfinite(self.q_target).all()):
            raise BadInput("modelled losses must be finite, got NaN or infinity; did the model diverge?")


@dataclass(frozen=True)
class WeighedRows:
    """Rows as the doubly robust estimators use them, for any importance weights.

    `logger` (n,) from 0, `weights` (n,) clipped already if they are to be, `lambdas` (J,) with
    sum_j n_j lambda_j = 1, and `residual` (n,) = delta - q_logged.
    """

    logger: Loggers
    weights: Vector
    residual: Vector
    q_target: Vector
    lambdas: Vector
    self_normalised: bool = False

    @property
    def shares(self) -> Vector:
        """a_i w_i of each row: (n,)."""
        return np.asarray(self.lambdas[self.logger] * self.weights, dtype=np.float64)

    @property
    def correction(self) -> float:
        """sum_i a_i w_i r_i, divided by sum_i a_i w_i if self-normalised."""
        shares = self.shares
        value = float(shares @ self.residual)
        if not self.self_normalised:
            return value
        check_support(float(shares.sum()), len(shares))
        return value / float(shares.sum())


def influence_values(rows: WeighedRows) -> Vector:
    """psi_i of each row, whose mean is the estimate and whose spread is its error: (n,).

    psi_i = E_{y ~ h} q(x_i, y) + n a_i w_i r_i;  self-normalised, by the delta method and with c the
    correction, E_{y ~ h} q(x_i, y) + c + n a_i w_i (r_i - c) / sum_i a_i w_i.
    """
    shares, count = rows.shares, len(rows.residual)
    if not rows.self_normalised:
        return rows.q_target + count * shares * rows.residual
    c = rows.correction
    psi = rows.q_target + c + count * shares * (rows.residual - c) / shares.sum()
    return np.asarray(psi, dtype=np.float64)


def doubly_robust_risk(rows: WeighedRows) -> Estimate:
    """R_dr of weights that are at hand already; the three below make them.

    Choice: the model's part is a plain mean over all rows, not weighted by lambda: every row's context comes
    from the same P(x), so that mean has the least variance whatever the loggers are.
    """
    shares = rows.shares
    mean_weight, squares = float(shares.sum()), float(shares @ shares)
    return Estimate(
        value=float(rows.q_target.mean()) + rows.correction,
        standard_error=_standard_error(rows.logger, influence_values(rows)),
        mean_weight=mean_weight,
        effective_rows=mean_weight**2 / squares if squares > 0 else 0.0,
        lambdas=tuple(rows.lambdas.tolist()),
    )


def naive_rows(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> WeighedRows:
    """Rows weighed by h/h_j with a_i = 1/n, as naive IPS does (section 2.1.1)."""
    return lambda_weighted_rows(batch, model, np.full(batch.loggers, 1.0 / batch.rows), rule)


def lambda_weighted_rows(
    batch: LoggedBatch, model: ModelledLoss, lambdas: Vector, rule: WeightRule = RAW
) -> WeighedRows:
    """Rows weighed by h/h_j with a_i = lambda_j, fixed beforehand (section 2.1.1)."""
    check_lambdas(batch, lambdas)
    weights = importance_weights(batch.log_target, batch.log_propensity, rule.clip)
    return _weighed(batch, model, weights, lambdas, rule)


def balanced_rows(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> WeighedRows:
    """Rows weighed by h/h_avg with a_i = 1/n (section 6)."""
    if batch.log_propensities is None:
        raise BadInput(
            "the balanced estimator needs the log propensity of each action under every logger, "
            "got only that under its own; fill log_propensities, or use the naive or weighted estimator"
        )
    log_average = log_mixture(batch.log_propensities, batch.counts)
    weights = importance_weights(batch.log_target, log_average, rule.clip)
    return _weighed(batch, model, weights, np.full(batch.loggers, 1.0 / batch.rows), rule)


def naive_doubly_robust(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> Estimate:
    """R_dr with the weights of naive IPS."""
    return doubly_robust_risk(naive_rows(batch, model, rule))


def lambda_weighted_doubly_robust(
    batch: LoggedBatch, model: ModelledLoss, lambdas: Vector, rule: WeightRule = RAW
) -> Estimate:
    """R_dr with the weights of lambda-weighted IPS."""
    return doubly_robust_risk(lambda_weighted_rows(batch, model, lambdas, rule))


def balanced_doubly_robust(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> Estimate:
    """R_dr with the weights of balanced IPS."""
    return doubly_robust_risk(balanced_rows(batch, model, rule))


def _weighed(
    batch: LoggedBatch, model: ModelledLoss, weights: Vector, lambdas: Vector, rule: WeightRule
) -> WeighedRows:
    if len(model.q_logged) != batch.rows:
        raise BadInput(
            f"the model gives losses for {len(model.q_logged)} rows, the log has {batch.rows}; "
            "take both from the same rows"
        )
    residual = batch.delta - model.q_logged
    return WeighedRows(batch.logger, weights, residual, model.q_target, lambdas, rule.self_normalised)


def _standard_error(logger: Loggers, influence: Vector) -> float:
    """sqrt( sum_j n_j s2_j ) / n, s2_j the sample variance of psi within logger j."""
    counts = np.bincount(logger)
    if (counts < 2).any():
        return math.nan
    spreads = [counts[j] * np.var(influence[logger == j], ddof=1) for j in range(len(counts))]
    return math.sqrt(float(np.sum(spreads))) / len(influence)
