"""Bootstrap intervals: contexts are resampled with replacement, and the interval is BCa.

Weighted losses are skewed to the right. Bias-corrected and accelerated intervals (Efron 1987) shift the
percentiles for that, where plain percentiles put too little on the upper side.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from multilogger.components.evaluation.context_sums import Column, Stratum, Sums, total_sums
from multilogger.components.evaluation.points import estimates
from multilogger.components.policies import Vector

BLOCK_DRAWS = 2_000_000  # draws in memory at a time
BLOCK_CONTEXTS = 20_000  # contexts left out at a time by the jackknife
FEWEST_REPLICATES = 20


@dataclass(frozen=True)
class Interval:
    """Both ends at the level that was asked for."""

    low: float
    high: float


@dataclass(frozen=True)
class Resampled:
    """An estimator over the resamples of a log."""

    standard_error: float
    percentile: Interval
    bca: Interval


@dataclass(frozen=True)
class Estimators:
    """Which estimators a log allows, and the rows of its loggers."""

    counts: Vector
    balanced: bool
    dr: bool

    def __call__(self, sums: Sums) -> dict[str, Vector]:
        return estimates(sums, self.counts, self.balanced, self.dr)


def resample(
    strata: Sequence[Stratum],
    estimators: Estimators,
    replicates: int,
    level: float,
    rng: np.random.Generator,
    advance: Callable[[float], None] = lambda _: None,
) -> dict[str, Resampled]:
    """Standard error and intervals of every estimator, from the same resamples."""
    loggers = len(estimators.counts)
    points = estimators(total_sums(strata, loggers))
    drawn = estimators(bootstrap_sums(strata, loggers, replicates, rng, advance))
    bends = accelerations(strata, estimators)
    return {name: _summary(float(points[name]), values, bends[name], level) for name, values in drawn.items()}


def bootstrap_sums(
    strata: Sequence[Stratum],
    loggers: int,
    replicates: int,
    rng: np.random.Generator,
    advance: Callable[[float], None] = lambda _: None,
) -> Sums:
    """Sums of resampled logs: (replicates, J, columns). Each stratum keeps its number of contexts."""
    sums = np.zeros((replicates, loggers, len(Column)))
    draws = sum(len(stratum.sums) for stratum in strata)
    for stratum in strata:
        count = len(stratum.sums)
        flat = stratum.sums.reshape(count, -1)
        block = max(1, BLOCK_DRAWS // count)
        for start in range(0, replicates, block):
            size = min(block, replicates - start)
            picks = rng.integers(0, count, size=(size, count))
            picks += count * np.arange(size)[:, None]
            times = np.bincount(picks.ravel(), minlength=size * count).reshape(size, count)
            mixed = (times.astype(np.float64) @ flat).reshape(size, *stratum.sums.shape[1:])
            sums[start : start + size] += stratum.spread_total(mixed, loggers)
            advance(size * count / draws)
    return sums


def accelerations(strata: Sequence[Stratum], estimators: Estimators) -> dict[str, float]:
    """Efron's a of each estimator: a sixth of the skewness of its jackknife, which leaves a context out."""
    loggers = len(estimators.counts)
    whole = total_sums(strata, loggers)
    squares: dict[str, float] = {}
    cubes: dict[str, float] = {}
    for stratum in strata:
        left_out: dict[str, list[Vector]] = {}
        for start in range(0, len(stratum.sums), BLOCK_CONTEXTS):
            rows = slice(start, start + BLOCK_CONTEXTS)
            for name, values in estimators(whole - stratum.spread(loggers, rows)).items():
                left_out.setdefault(name, []).append(values)
        for name, parts in left_out.items():
            values = np.concatenate(parts)
            values = values[np.isfinite(values)]
            off = values.mean() - values if len(values) else values
            squares[name] = squares.get(name, 0.0) + float(np.sum(off**2))
            cubes[name] = cubes.get(name, 0.0) + float(np.sum(off**3))
    return {name: cubes[name] / (6.0 * s**1.5) if s > 0 else 0.0 for name, s in squares.items()}


def bca_interval(point: float, values: Vector, acceleration: float, level: float) -> Interval:
    """Bias-corrected and accelerated interval from resampled values (B,).

    alpha' = Phi( z0 + (z0 + z_alpha) / (1 - a (z0 + z_alpha)) ),  z0 = Phi^-1( share of values below point )
    """
    count = len(values)
    below = (np.sum(values < point) + 0.5 * np.sum(values == point)) / count
    z0 = float(ndtri(np.clip(below, 0.5 / count, 1.0 - 0.5 / count)))
    tail = 0.5 * (1.0 - level)
    ends = []
    for z in (float(ndtri(tail)), float(ndtri(1.0 - tail))):
        bent = 1.0 - acceleration * (z0 + z)
        ends.append(float(ndtr(z0 + (z0 + z) / bent)) if bent > 0 else (1.0 if z > 0 else 0.0))
    low, high = np.quantile(values, ends)
    return Interval(float(low), float(high))


def _summary(point: float, drawn: Vector, acceleration: float, level: float) -> Resampled:
    # A resample without any row of a logger, or without weight, has no estimate: the log itself has both.
    values = drawn[np.isfinite(drawn)]
    if len(values) < FEWEST_REPLICATES or not math.isfinite(point):
        nowhere = Interval(math.nan, math.nan)
        return Resampled(math.nan, nowhere, nowhere)
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Resampled(
        standard_error=float(values.std(ddof=1)),
        percentile=Interval(float(low), float(high)),
        bca=bca_interval(point, values, acceleration, level),
    )
