"""Exact divergences between a policy and its loggers (section 4.1), which the paper only estimates.

d_2(h||h_j; P(x)) has a closed form in every action space and needs no discriminator.

Choice: P(x) is the contexts at hand; an expectation over x is their mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.weights import log_mixture

BLOCK_ROWS = 256  # contexts enumerated at a time: 256 x 4096 actions are 8 MB a policy
BLOCK_NUMBERS = BLOCK_ROWS * 4096  # fewer contexts, if they have more actions than that


@dataclass(frozen=True)
class PolicyDivergence:
    """How far h stands from a logger, in logs because both may exceed any float.

    `log_d2` is log d_2(h||h_j; P(x)); `log_max_ratio` is log M_j = log max_x d_inf(h||h_j).
    """

    log_d2: float
    log_max_ratio: float

    @property
    def d2(self) -> float:
        """d_2(h||h_j; P(x)) = E_{x, y ~ h_j} (h/h_j)^2, at least 1."""
        return exp_or_inf(self.log_d2)

    @property
    def d_f(self) -> float:
        """D_f(h||h_j; P(x)) = d_2 - 1, at least 0."""
        try:
            return math.expm1(self.log_d2)
        except OverflowError:
            return math.inf


def exact_divergence(space: ActionSpace, logits: Matrix, logger_logits: Matrix) -> PolicyDivergence:
    """d_2(h||h_j; P(x)) and M_j in closed form, from logits (n, size) of both on the same contexts.

    d_2 = (1/n) sum_x d_2(h||h_j; x), by log-mean-exp
    """
    return PolicyDivergence(
        log_d2=_log_mean_exp(space.log_d2(logits, logger_logits)),
        log_max_ratio=float(space.log_max_ratio(logits, logger_logits).max()),
    )


def enumerated_average_divergence(
    space: ActionSpace, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector
) -> PolicyDivergence:
    """d_2(h||h_avg; P(x)) and M_avg (section 6) by a sum over all actions, where they can be listed.

    (1/n) sum_x sum_y h(y|x)^2 / h_avg(y|x),  h_avg = sum_j (n_j/n) h_j
    """
    log_moments, log_ratios = [], []
    rows = max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // max(1, logits.shape[1])))
    for start in range(0, len(logits), rows):
        block = slice(start, start + rows)
        log_h = space.log_probability_of_all(logits[block])
        tables = [space.log_probability_of_all(table[block]) for table in logger_logits]
        log_ratio = log_h - log_mixture(np.stack(tables, axis=-1), counts)
        log_moments.append(logsumexp(log_h + log_ratio, axis=1))
        log_ratios.append(log_ratio.max(axis=1))
    return PolicyDivergence(
        log_d2=_log_mean_exp(np.concatenate(log_moments)),
        log_max_ratio=float(np.concatenate(log_ratios).max()),
    )


def harmonic_divergence_bound(
    space: ActionSpace, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector
) -> PolicyDivergence:
    """Upper bounds of d_2(h||h_avg; P(x)) and M_avg, tighter than the means over loggers.

    d_2(h||h_avg; x) <= 1 / sum_j (n_j/n) / d_2(h||h_j; x), then the mean over contexts; M_avg likewise, then
    the maximum. For any v_j >= 0 with sum 1, convexity gives 1 / sum_j s_j h_j <= sum_j v_j^2 / (s_j h_j);
    v_j in proportion to s_j / d_2(h||h_j; x) makes it smallest.

    Choice: not in the paper. One logger close to h keeps this bound near n / n_j however far the others are,
    while the arithmetic mean follows the farthest; it makes Theorem 6.1 say something for many labels.
    """
    log_moments = np.stack([space.log_d2(logits, table) for table in logger_logits], axis=-1)
    log_ratios = np.stack([space.log_max_ratio(logits, table) for table in logger_logits], axis=-1)
    return PolicyDivergence(
        log_d2=_log_mean_exp(-log_mixture(-log_moments, counts)),
        log_max_ratio=float((-log_mixture(-log_ratios, counts)).max()),
    )


def average_divergence(
    space: ActionSpace, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector
) -> PolicyDivergence:
    """d_2(h||h_avg; P(x)) and M_avg as well as they can be had: exact where all actions can be listed."""
    few = space.can_list_actions()
    return (enumerated_average_divergence if few else harmonic_divergence_bound)(
        space, logits, logger_logits, counts
    )


def exp_or_inf(log_value: float) -> float:
    """exp of a log, infinite where float64 ends."""
    try:
        return math.exp(log_value)
    except OverflowError:
        return math.inf


def _log_mean_exp(logs: Vector) -> float:
    return float(logsumexp(logs)) - math.log(len(logs))
