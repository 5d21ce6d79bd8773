"""Doubly robust estimators of R(h) from the logs of several loggers: a model of the loss, and weights.

R_dr = (1/n) sum_i E_{y ~ h} q(x_i, y) + sum_i a_i w_i (delta_i - q(x_i, y_i)),  sum_i a_i = 1.

The mean is right when the model q is right, whatever the weights, and when the weights are right, whatever
the model, provided that q was not fitted on the rows at hand. q = 0 gives the estimators of `ips.py`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import (
    Estimate,
    WeighedRows,
    balanced_rows,
    equal_lambdas,
    estimate,
)
from multilogger.components.estimators.logged_batch import LoggedBatch, Loggers
from multilogger.components.estimators.weights import RAW, WeightRule


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


def influence_values(
    rows: WeighedRows, model: ModelledLoss, lambdas: Vector, self_normalised: bool = False
) -> Vector:
    """psi_i of each row, whose mean is the estimate and whose spread is its error: (n,).

    psi_i = E_{y ~ h} q(x_i, y) + n a_i w_i r_i,  r_i = delta_i - q(x_i, y_i);  self-normalised, by the delta
    method and with c the correction, E_{y ~ h} q(x_i, y) + c + n a_i w_i (r_i - c) / sum_i a_i w_i.
    """
    left = _residual(rows, model)
    shares, count = left.shares(lambdas), len(left.delta)
    if not self_normalised:
        return model.q_target + count * shares * left.delta
    c = estimate(left, lambdas, self_normalised).value
    psi = model.q_target + c + count * shares * (left.delta - c) / shares.sum()
    return np.asarray(psi, dtype=np.float64)


def doubly_robust_risk(
    rows: WeighedRows, model: ModelledLoss, lambdas: Vector, self_normalised: bool = False
) -> Estimate:
    """R_dr of rows that are weighed already, with a_i = lambda_j; the three below weigh them.

    Choice: the model's part is a plain mean over all rows, not weighted by lambda: every row's context comes
    from the same P(x), so that mean has the least variance whatever the loggers are.
    """
    correction = estimate(_residual(rows, model), lambdas, self_normalised)
    return replace(
        correction,
        value=float(model.q_target.mean()) + correction.value,
        standard_error=_standard_error(rows.logger, influence_values(rows, model, lambdas, self_normalised)),
    )


def balanced_doubly_robust(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> Estimate:
    """R_dr with the weights of balanced IPS (section 6)."""
    rows = balanced_rows(batch, rule.clip)
    return doubly_robust_risk(rows, model, equal_lambdas(rows.counts), rule.self_normalised)


def _residual(rows: WeighedRows, model: ModelledLoss) -> WeighedRows:
    """The same rows with what the model leaves of their losses."""
    if len(model.q_logged) != len(rows.delta):
        raise BadInput(
            f"the model gives losses for {len(model.q_logged)} rows, the log has {len(rows.delta)}; "
            "take both from the same rows"
        )
    return replace(rows, delta=rows.delta - model.q_logged)


def _standard_error(logger: Loggers, influence: Vector) -> float:
    """sqrt( sum_j n_j s2_j ) / n, s2_j the sample variance of psi within logger j."""
    counts = np.bincount(logger)
    if (counts < 2).any():
        return math.nan
    spreads = [counts[j] * np.var(influence[logger == j], ddof=1) for j in range(len(counts))]
    return math.sqrt(float(np.sum(spreads))) / len(influence)
