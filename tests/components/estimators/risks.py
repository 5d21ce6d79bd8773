"""Estimators of logs in memory, put together from the parts that the source has: what tests compare with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.additive_weights import (
    AdditiveWeights,
    balanced_additive_weights,
    own_additive_weights,
    support_shares,
)
from multilogger.components.estimators.divergences import PolicyDivergence
from multilogger.components.estimators.doubly_robust import ModelledLoss, doubly_robust_risk
from multilogger.components.estimators.ips import (
    Estimate,
    WeighedRows,
    balanced_rows,
    equal_estimate,
    equal_lambdas,
    estimate,
    lambda_weighted_risk,
    logger_stats,
    own_rows,
)
from multilogger.components.estimators.lambda_star import Stats, supported_lambda_star
from multilogger.components.estimators.logged_batch import LoggedBatch, Loggers
from multilogger.components.estimators.smoothing import (
    Groups,
    SmoothedSums,
    implicit_weights,
    ls_sums,
    ls_values,
    mixed_lower_bound,
    smoothings,
)
from multilogger.components.estimators.weights import RAW, WeightRule, log_mixture


def naive_risk(batch: LoggedBatch, rule: WeightRule = RAW) -> Estimate:
    """Naive IPS (section 2.1.1).

    R_naive = (1/n) sum_j sum_i h/h_j delta
    """
    return equal_estimate(own_rows(batch, rule.clip), rule.self_normalised)


def weighted_risk(batch: LoggedBatch, rule: WeightRule = RAW) -> Estimate:
    """Weighted IPS: R_lambda at lambda* (section 2.1.1), with lambda* estimated on the same rows."""
    return lambda_weighted_risk(batch, supported_lambda_star(logger_stats(batch, rule.clip)), rule)


def balanced_risk(batch: LoggedBatch, rule: WeightRule = RAW) -> Estimate:
    """Balanced IPS (section 6).

    R_bal = (1/n) sum_j sum_i h/h_avg delta
    """
    return equal_estimate(balanced_rows(batch, rule.clip), rule.self_normalised)


def plain_lambdas(stats: Stats) -> Vector:
    """lambda* of Open Bandit Pipeline: from the variance of u within each logger, dividing by n_j. (J,)."""
    s2 = np.array([s.squares / s.count for s in stats])
    return np.asarray(1.0 / (s2 * sum(s.count / one for s, one in zip(stats, s2, strict=True))))


def naive_doubly_robust(batch: LoggedBatch, model: ModelledLoss, rule: WeightRule = RAW) -> Estimate:
    """R_dr with the weights of naive IPS (section 2.1.1)."""
    return lambda_weighted_doubly_robust(batch, model, equal_lambdas(batch.counts), rule)


def lambda_weighted_doubly_robust(
    batch: LoggedBatch, model: ModelledLoss, lambdas: Vector, rule: WeightRule = RAW
) -> Estimate:
    """R_dr with the weights of lambda-weighted IPS (section 2.1.1), lambdas fixed beforehand."""
    return doubly_robust_risk(own_rows(batch, rule.clip), model, lambdas, rule.self_normalised)


def switch_doubly_robust(batch: LoggedBatch, model: ModelledLoss, threshold: float) -> Estimate:
    """Switch-DR (Wang, Agarwal and Dudik 2017): naive R_dr that leaves the model alone where h/h_j is large.

    R_switch = (1/n) sum_i E_{y ~ h} q(x_i, y) + (1/n) sum_i 1[w_i <= threshold] w_i (delta_i - q(x_i, y_i))

    A threshold of 0 gives the direct method, one above all weights naive R_dr. Not in the paper.
    """
    if not threshold >= 0:
        raise BadInput(f"the threshold of weights must be at least 0, got {threshold:g}")
    rows = own_rows(batch)
    kept = replace(rows, weights=np.where(rows.weights <= threshold, rows.weights, 0.0))
    return doubly_robust_risk(kept, model, equal_lambdas(batch.counts))


@dataclass(frozen=True)
class LabelRows:
    """Rows of label vectors: context (n,), logger (n,), action (n, q) and loss (n,); n_j in `counts` (J,)."""

    context: NDArray[np.int64]
    logger: Loggers
    action: Actions
    delta: Vector
    counts: Vector

    def weighed(self, weights: AdditiveWeights) -> WeighedRows:
        own = weights.of(self.context, self.logger, self.action)
        return WeighedRows(self.logger, own, self.delta, self.counts)


def additive_naive_risk(rows: LabelRows, logits: Matrix, logger_logits: Sequence[Matrix]) -> Estimate:
    """(1/n) sum_i W_i delta_i, W of each row's own logger."""
    return estimate(rows.weighed(own_additive_weights(logits, logger_logits)), equal_lambdas(rows.counts))


def additive_weighted_risk(rows: LabelRows, logits: Matrix, logger_logits: Sequence[Matrix]) -> Estimate:
    """The same with loggers weighed by how well they support the policy."""
    weights = own_additive_weights(logits, logger_logits)
    return estimate(rows.weighed(weights), support_shares(weights, rows.counts) / rows.counts)


def additive_balanced_risk(rows: LabelRows, logits: Matrix, logger_logits: Sequence[Matrix]) -> Estimate:
    """(1/n) sum_i W_i delta_i, W balanced over the loggers."""
    weights = balanced_additive_weights(logits, logger_logits, rows.counts)
    return estimate(rows.weighed(weights), equal_lambdas(rows.counts))


def ls_lower_bound(
    weights: Vector,
    rewards: Vector,
    eta: float,
    smoothing: float | None = None,
    groups: Groups | None = None,
) -> float:
    """A lower bound of V from weights h/h_j or h/h_avg; it fails with a chance of at most `eta`.

    By one M that was fixed beforehand, or by a mixture of them. `groups` says which rows share a context.
    """
    values = ls_values(weights, rewards, groups)
    given = smoothings(len(values)) if smoothing is None else (smoothing,)
    return mixed_lower_bound([ls_sums(values, float(m)) for m in given], eta)


def ix_sums(
    log_target: Vector, log_propensity: Vector, rewards: Vector, gamma: float, groups: Groups | None = None
) -> SmoothedSums:
    """Implicit exploration of rows, from log h and log h_j or log h_avg."""
    weighted = implicit_weights(log_target, log_propensity, gamma) * rewards
    if groups is None:
        return SmoothedSums(2.0 * gamma, len(weighted), float(weighted.sum()))
    values = groups.values(weighted)
    return SmoothedSums(2.0 * gamma / groups.whole.most, len(values), float(values.sum()))


def ix_lower_bound(
    log_target: Vector,
    log_propensity: Vector,
    rewards: Vector,
    eta: float,
    gamma: float | None = None,
    groups: Groups | None = None,
) -> float:
    """The same by implicit exploration, from log h and log h_j or log h_avg; 2 gamma is 1/M."""
    count = len(rewards) if groups is None else len(groups.rows)
    given = 0.5 / smoothings(count) if gamma is None else (gamma,)
    found = [ix_sums(log_target, log_propensity, rewards, float(g), groups) for g in given]
    return mixed_lower_bound(found, eta)


def average_divergence_bound(divergences: Sequence[PolicyDivergence], counts: Vector) -> PolicyDivergence:
    """Upper bounds of d_2(h||h_avg; P(x)) and M_avg that hold for any number of labels.

    d_2(h||h_avg) <= sum_j (n_j/n) d_2(h||h_j)  by convexity of 1/t, and M_avg <= sum_j (n_j/n) M_j likewise.
    """
    return PolicyDivergence(
        log_d2=float(log_mixture(np.array([d.log_d2 for d in divergences]), counts)),
        log_max_ratio=float(log_mixture(np.array([d.log_max_ratio for d in divergences]), counts)),
    )
