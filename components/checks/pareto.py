"""Pareto-k: how heavy the tail of importance weights is.

The shape k of a generalised Pareto distribution, fitted to the largest weights by the empirical Bayes
estimator of Zhang and Stephens (2009), and drawn a little towards 1/2 as in Vehtari et al. (2024). Weights of
a tail with k have a mean if k < 1 and a variance if k < 1/2; above 0.7 an estimate from them is not to be
relied on, however many rows there are.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from multilogger.components.actions.arrays import Vector

GOOD, BEARABLE = 0.5, 0.7
FEWEST_TAIL = 10
PRIOR_WEIGHT = 10.0  # of k = 1/2, in rows of the tail


@dataclass(frozen=True)
class Shape:
    """Of a generalised Pareto distribution: k > 0 for heavy tails, and its scale."""

    k: float
    sigma: float


def tail_size(rows: int) -> int:
    """How many of the largest weights are the tail: min(n / 5, 3 sqrt(n))."""
    return int(min(0.2 * rows, 3.0 * math.sqrt(rows)))


def fit_tail(excesses: Vector) -> Shape:
    """Zhang and Stephens' estimate from excesses (m,) over a threshold, none below 0."""
    x = np.sort(excesses)
    count = len(x)
    points = 30 + int(math.sqrt(count))
    quartile = x[int(count / 4 + 0.5) - 1]
    grid = 1.0 / x[-1] + (1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3.0 * quartile)
    # the shape that maximises the likelihood for each theta = -k / sigma
    shapes = np.array([np.log1p(-theta * x).mean() for theta in grid])
    profile = count * (np.log(-grid / shapes) - shapes - 1.0)
    theta = float((grid * softmax(profile)).sum())
    k = float(np.log1p(-theta * x).mean())
    return Shape(k, -k / theta)


def pareto_k(largest: Vector) -> float:
    """k of the tail from the m + 1 largest weights, in any order; NaN where they are too few or all equal."""
    ordered = np.sort(largest)
    excesses = ordered[1:] - ordered[0]
    if len(excesses) < FEWEST_TAIL or excesses[-1] <= 0 or not np.isfinite(excesses[-1]):
        return math.nan
    scaled = np.maximum(excesses / excesses[-1], np.finfo(np.float64).tiny)
    if scaled[int(len(scaled) / 4 + 0.5) - 1] < 1e-9:  # most of the tail is one value: bounded, not heavy
        return math.nan
    k, count = fit_tail(scaled).k, len(scaled)
    return (count * k + PRIOR_WEIGHT * 0.5) / (count + PRIOR_WEIGHT)


def tail_words(k: float) -> str:
    """What k says of an estimate."""
    if math.isnan(k):
        return "no tail"
    if k < GOOD:
        return "light"
    return "heavy but bearable" if k < BEARABLE else "too heavy to rely on"
