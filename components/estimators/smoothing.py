"""Pessimistic estimates of a mean reward: logarithmic smoothing and implicit exploration, with their bounds.

Not in the paper. Rewards r lie in [0, 1]; V is the mean reward of the policy. Both lower a mean of weighted
rewards so much that it is above V with a known chance alone, however large weights may be.

Logarithmic smoothing (Sakhi, Aouali, Alquier, Chopin, NeurIPS 2024), x = w r and M > 0:

    LS = mean_i M log(1 + x_i / M),    V >= M (exp(LS/M - log(1/eta)/n) - 1)

with probability at least 1 - eta, for x_1..x_n >= 0 that are independent and whose expectations have the mean
V, and an M that was fixed beforehand. For E prod_i (1 + x_i/M) = prod_i (1 + E x_i/M) <= (1 + V/M)^n, because
the logarithm is concave; the rest is Markov's inequality. They have iid rows of one logger and write costs
c = -r and lambda = 1/M; the x_i need not be iid. So the bound holds for weights h/h_j, and for h/h_avg, whose
expectations differ from logger to logger and have the mean V.

Implicit exploration (Neu 2015; off-policy: Gabbianelli, Neu, Papini 2024), gamma > 0:

    IX = mean_i r_i h / (h_0 + gamma),    V >= (exp(2 gamma IX - log(1/eta)/n) - 1) / (2 gamma)

under the same conditions, h_0 being h_j or h_avg, which is at least their IX - log(1/eta) / (2 gamma n). For
2 gamma r h/(h_0 + gamma) <= h log(1 + 2 gamma r/h_0) <= log(1 + 2 gamma r h/h_0), as
z/(1 + z/2) <= log(1 + z) and r, h <= 1. It follows that IX <= LS at M = 1/(2 gamma), row by row: that bound
is never below this one. gamma is a propensity. Where all of them are small, as of vectors of many labels, IX
is next to 0.

Rows of one context are dependent. Their values are summed: y_c = (C/n) sum of x_i over the rows of context c
are independent over the C contexts, and the mean of their expectations is V. For IX the same holds with
2 gamma / a for 2 gamma, a = (C/n) times the most rows of a context, and at least 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput


@dataclass(frozen=True)
class SmoothedSums:
    """`count` values, and the sum of what they are smoothed to at `rate` (1/M, or 2 gamma): they add up."""

    rate: float
    count: int
    total: float

    def __add__(self, other: "SmoothedSums") -> "SmoothedSums":
        if self.rate != other.rate:
            raise BadInput(f"sums of one smoothing can be added, got rates {self.rate:g} and {other.rate:g}")
        return SmoothedSums(self.rate, self.count + other.count, self.total + other.total)

    @property
    def value(self) -> float:
        """The estimate, on average too low."""
        return self.total / self.count if self.count else 0.0

    def lower_bound(self, eta: float) -> float:
        """(exp(rate value - log(1/eta)/count) - 1) / rate, and at least 0."""
        if not 0 < eta < 1:
            raise BadInput(f"eta is the chance that the bound fails and must lie between 0 and 1, got {eta}")
        if not self.count:
            return 0.0
        shrunk = self.rate * self.value - math.log(1.0 / eta) / self.count
        return max(0.0, math.expm1(shrunk) / self.rate)


def usual_smoothing(values: int) -> float:
    """M = sqrt(n), as its authors have it for a bound: the error is then of the order 1/sqrt(n)."""
    return math.sqrt(values)


def usual_gamma(values: int) -> float:
    """gamma = 1/(2 sqrt(n)), which belongs to M = sqrt(n)."""
    return 0.5 / math.sqrt(values)


def log_smoothed(values: Vector, smoothing: float) -> Vector:
    """M log(1 + x/M) of values x >= 0: (n,)."""
    return np.asarray(smoothing * np.log1p(values / smoothing), dtype=np.float64)


def implicit_weights(log_target: Vector, log_propensity: Vector, gamma: float) -> Vector:
    """h / (h_0 + gamma) of rows, from log h and log h_0: (n,)."""
    return np.asarray(np.exp(log_target - np.logaddexp(log_propensity, math.log(gamma))), dtype=np.float64)


def ls_sums(
    weights: Vector,
    rewards: Vector,
    smoothing: float | None = None,
    context: NDArray[np.int64] | None = None,
) -> SmoothedSums:
    """Logarithmic smoothing of rows with weights (n,) and rewards (n,), M = sqrt(C) unless it is given."""
    _check_rewards(rewards)
    if len(weights) and float(weights.min()) < 0:
        raise BadInput(f"logarithmic smoothing needs weights of at least 0, got {float(weights.min()):g}")
    values, _ = _by_context(weights * rewards, context)
    given = usual_smoothing(max(1, len(values))) if smoothing is None else _above_zero("smoothing", smoothing)
    return SmoothedSums(1.0 / given, len(values), float(log_smoothed(values, given).sum()))


def ix_sums(
    log_target: Vector,
    log_propensity: Vector,
    rewards: Vector,
    gamma: float | None = None,
    context: NDArray[np.int64] | None = None,
) -> SmoothedSums:
    """Implicit exploration of rows, from log h and log h_j or log h_avg; gamma = 1/(2 sqrt(C)) by default."""
    _check_rewards(rewards)
    contexts = len(rewards) if context is None else len(np.unique(context))
    given = usual_gamma(max(1, contexts)) if gamma is None else _above_zero("gamma", gamma)
    weights = implicit_weights(log_target, log_propensity, given)
    values, most = _by_context(weights * rewards, context)
    return SmoothedSums(2.0 * given / most, len(values), float(values.sum()))


def ls_lower_bound(
    weights: Vector,
    rewards: Vector,
    eta: float,
    smoothing: float | None = None,
    context: NDArray[np.int64] | None = None,
) -> float:
    """A lower bound of V from weights h/h_j or h/h_avg; it fails with a chance of at most `eta`."""
    return ls_sums(weights, rewards, smoothing, context).lower_bound(eta)


def ix_lower_bound(
    log_target: Vector,
    log_propensity: Vector,
    rewards: Vector,
    eta: float,
    gamma: float | None = None,
    context: NDArray[np.int64] | None = None,
) -> float:
    """The same by implicit exploration, from log h and log h_j or log h_avg."""
    return ix_sums(log_target, log_propensity, rewards, gamma, context).lower_bound(eta)


def _by_context(values: Vector, context: NDArray[np.int64] | None) -> tuple[Vector, float]:
    """y_c of each context that has rows, and a, which is at least 1."""
    if context is None or not len(values):
        return values, 1.0
    _, number, counts = np.unique(context, return_inverse=True, return_counts=True)
    scale = len(counts) / len(values)
    sums = np.bincount(number, values, minlength=len(counts)) * scale
    return np.asarray(sums, dtype=np.float64), max(1.0, float(counts.max()) * scale)


def _check_rewards(rewards: Vector) -> None:
    if len(rewards) and not (float(rewards.min()) >= 0 and float(rewards.max()) <= 1):
        raise BadInput(
            f"rewards must lie in [0, 1], got {float(rewards.min()):g} to {float(rewards.max()):g}; "
            "take 1 - loss / largest loss"
        )


def _above_zero(name: str, value: float) -> float:
    if not value > 0:
        raise BadInput(f"{name} must be above 0, got {value}")
    return value
