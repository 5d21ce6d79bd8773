"""Empirical-Bernstein intervals (Maurer and Pontil 2009): they hold at any sample size, and are wide.

With probability at least 1 - eta the mean of m independent values, each in an interval of width r, lies less
than sqrt(2 V log(2/eta) / m) + 7 r log(2/eta) / (3 (m - 1)) above its expectation, V the sample variance;
and the same below. The values need not have one distribution. Here a value is the sum over a context.

Valid for: naive and balanced, when the largest possible weight is known; weighted, likewise, and for any
logger shares, because the bounds of all loggers hold at once; clipped ones always, as the clip bounds the
weights. Not for self-normalised estimates (a ratio has no such bound) nor for `dr` (its model is fitted on
rows of the same log, and its predictions have no bound).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.evaluation.bootstrap import Interval
from multilogger.components.evaluation.scored_log import Contexts, ScoredLog
from multilogger.components.policies import Vector


@dataclass(frozen=True)
class Part:
    """Rows whose mean estimates the risk on its own: all of them, or those of one logger.

    `context` (m,), `weights` (m,), `delta` (m,); `max_weight` is the largest weight that could occur: one
    number, or one a row; `share` is how much the part counts.
    """

    context: Contexts
    weights: Vector
    delta: Vector
    max_weight: float | Vector
    share: float


def deviation(values: Vector, width: float, eta: float) -> float:
    """How far the mean of independent values (m,) may lie on one side of its expectation."""
    if len(values) < 2:
        return math.inf
    log_term = math.log(2.0 / eta)
    variance = float(np.var(values, ddof=1))
    return math.sqrt(2.0 * variance * log_term / len(values)) + 7.0 * width * log_term / (
        3.0 * (len(values) - 1)
    )


def bernstein_interval(parts: Sequence[Part], max_loss: float, level: float, clipped: bool) -> Interval:
    """An interval of R(h) at `level`, within [0, max_loss].

    Both ends of every part share the chance of failure equally, so the interval holds for shares that were
    estimated from the same rows. Cutting weights lowers a mean of non-negative terms: for `clipped` weights
    the lower end comes from the losses, E min(w, c) delta <= R, and the upper end from what the loss lacks to
    its maximum, R <= L - E min(w, c) (L - delta). Both ends then hold for R(h), not for its clipped version.
    """
    eta = (1.0 - level) / (2.0 * len(parts))
    low = high = 0.0
    for part in parts:
        mean, off = _mean_and_deviation(part, part.delta, max_loss, eta)
        low += part.share * (mean - off)
        if clipped:
            gain, gain_off = _mean_and_deviation(part, max_loss - part.delta, max_loss, eta)
            high += part.share * (max_loss - gain + gain_off)
        else:
            high += part.share * (mean + off)
    return Interval(max(0.0, low), min(max_loss, high))


def whole_log(log: ScoredLog, weights: Vector, max_weight: Vector | float) -> tuple[Part, ...]:
    """One part: all rows count the same, as in naive and balanced."""
    bound = max_weight[log.logger] if isinstance(max_weight, np.ndarray) else max_weight
    return (Part(log.context, weights, log.delta, bound, 1.0),)


def by_logger(
    log: ScoredLog, weights: Vector, max_weight: Vector | float, shares: Vector
) -> tuple[Part, ...]:
    """One part a logger that has a share, as in weighted."""
    parts = []
    for j in np.flatnonzero(shares > 0):
        rows = log.logger == j
        bound = float(max_weight[j]) if isinstance(max_weight, np.ndarray) else max_weight
        parts.append(Part(log.context[rows], weights[rows], log.delta[rows], bound, float(shares[j])))
    return tuple(parts)


def _mean_and_deviation(part: Part, losses: Vector, max_loss: float, eta: float) -> tuple[float, float]:
    """Mean of w times loss, and its deviation with the contexts as independent values.

    Y_c = (C/m) sum of a context's terms, so that the mean of Y over C contexts is the mean over m rows; Y_c
    lies in [0, (C/m) L sum of its rows' largest weights].
    """
    _, number = np.unique(part.context, return_inverse=True)
    rows = len(losses)
    bounds = np.broadcast_to(np.asarray(part.max_weight, dtype=np.float64), (rows,))
    contexts = int(number.max()) + 1
    values = np.bincount(number, part.weights * losses).astype(np.float64) * (contexts / rows)
    width = float(np.bincount(number, bounds).max()) * max_loss * (contexts / rows)
    return float(values.mean()), deviation(values, width, eta)
