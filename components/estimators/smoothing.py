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

Which M is best depends on E x^2, which is not known beforehand. The mean over several M_k of
prod_i (1 + x_i/M_k) / (1 + m/M_k) has an expectation of at most 1 at m = V, too, and falls in m: the m at
which it is 1/eta is a lower bound that is nearly as good as that of the best M_k. So it is for gamma.

Rows of one context are dependent. Their values are summed: y_c = (C/n) sum of x_i over the rows of context c
are independent over the C contexts, and the mean of their expectations is V. For IX the same holds with
2 gamma / a for 2 gamma, a = (C/n) times the most rows of a context, and at least 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput

Contexts = NDArray[np.int64]

STEP = 3.0  # from one M_k to the next: the nearest is off by sqrt(3), which costs a seventh of the error
SMALLEST, MOST_SMOOTHED = 1.0 / 27.0, 1.0  # M in units of sqrt(n), and of n
STEPS = 50  # of a bisection


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
        _check_eta(eta)
        if not self.count:
            return 0.0
        shrunk = self.rate * self.value - math.log(1.0 / eta) / self.count
        return max(0.0, math.expm1(shrunk) / self.rate)


def mixed_lower_bound(sums: Sequence[SmoothedSums], eta: float) -> float:
    """The bound by the mean over several rates, each of the same values."""
    _check_eta(eta)
    count = sums[0].count
    rates, exponents = np.array([s.rate for s in sums]), np.array([s.rate * s.total for s in sums])
    goal = math.log(len(sums) / eta)

    def short(mean: float) -> bool:
        wealth = exponents - count * np.log1p(rates * mean)
        most = float(wealth.max())
        return most + math.log(float(np.exp(wealth - most).sum())) < goal

    low, high = 0.0, max(one.lower_bound(eta) for one in sums)  # the best of them has no part of eta to give
    if not count or short(low):
        return 0.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if short(middle) else (middle, high)
    return low


def usual_smoothing(values: int) -> float:
    """M = sqrt(n), as its authors have it: its error is of the order 1/sqrt(n)."""
    return math.sqrt(max(1, values))


def smoothings(values: int) -> Vector:
    """The M_k of a mixture, which depend on the number of values alone."""
    root = usual_smoothing(values)
    times = math.log(max(MOST_SMOOTHED * root / SMALLEST, 1.0)) / math.log(STEP)
    return np.asarray(SMALLEST * root * STEP ** np.arange(math.floor(times) + 1.0), dtype=np.float64)


def log_smoothed(values: Vector, smoothing: float) -> Vector:
    """M log(1 + x/M) of values x >= 0: (n,)."""
    return np.asarray(smoothing * np.log1p(values / smoothing), dtype=np.float64)


def implicit_weights(log_target: Vector, log_propensity: Vector, gamma: float) -> Vector:
    """h / (h_0 + gamma) of rows, from log h and log h_0: (n,)."""
    return np.asarray(np.exp(log_target - np.logaddexp(log_propensity, math.log(gamma))), dtype=np.float64)


@dataclass(frozen=True)
class Whole:
    """A log of `contexts` C and `rows` n, of which some have `most_rows` of one context."""

    contexts: int
    rows: int
    most_rows: int

    @property
    def scale(self) -> float:
        """C/n."""
        return self.contexts / max(1, self.rows)

    @property
    def most(self) -> float:
        """a, which is at least 1."""
        return float(self.most_rows * self.scale)


@dataclass(frozen=True)
class Groups:
    """Which rows share a context: its number from 0 of each row (n,), and the rows of each context (C,).

    They may be a part of a log that is given as `part_of`, with all rows of their contexts.
    """

    number: Contexts
    rows: Contexts
    part_of: Whole | None = None

    @classmethod
    def of(cls, context: Contexts) -> "Groups":
        _, number, rows = np.unique(context, return_inverse=True, return_counts=True)
        return cls(number, rows)

    @property
    def whole(self) -> Whole:
        return self.part_of or Whole(len(self.rows), len(self.number), int(self.rows.max(initial=1)))

    def values(self, rows: Vector) -> Vector:
        """y_c of each context: (C,)."""
        alone = len(self.rows) == len(self.number)  # the order of contexts does not matter
        sums = rows if alone else np.bincount(self.number, rows, minlength=len(self.rows))
        return np.asarray(sums * self.whole.scale, dtype=np.float64)


def ls_sums(values: Vector, smoothing: float) -> SmoothedSums:
    """Logarithmic smoothing of values x = w r >= 0 (n,) at M."""
    if not smoothing > 0:
        raise BadInput(f"smoothing must be above 0, got {smoothing}")
    return SmoothedSums(1.0 / smoothing, len(values), float(log_smoothed(values, smoothing).sum()))


def ls_values(weights: Vector, rewards: Vector, groups: Groups | None = None) -> Vector:
    """x = w r of rows, or y of contexts."""
    _check_rewards(rewards)
    if len(weights) and float(weights.min()) < 0:
        raise BadInput(f"logarithmic smoothing needs weights of at least 0, got {float(weights.min()):g}")
    return weights * rewards if groups is None else groups.values(weights * rewards)


def _check_eta(eta: float) -> None:
    if not 0 < eta < 1:
        raise BadInput(f"eta is the chance that the bound fails and must lie between 0 and 1, got {eta}")


def _check_rewards(rewards: Vector) -> None:
    if len(rewards) and not (float(rewards.min()) >= 0 and float(rewards.max()) <= 1):
        raise BadInput(
            f"rewards must lie in [0, 1], got {float(rewards.min()):g} to {float(rewards.max()):g}; "
            "take 1 - loss / largest loss"
        )
