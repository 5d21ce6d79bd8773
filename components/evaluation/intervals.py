"""Intervals of an estimate: the bootstrap's over contexts, and empirical Bernstein ones that always hold.

Weighted losses are skewed to the right. Bias-corrected and accelerated intervals (Efron 1987) shift the
percentiles for that, where plain percentiles put too little on the upper side.

With probability at least 1 - eta the mean of m independent values, each in an interval of width r, lies less
than sqrt(2 V log(2/eta) / m) + 7 r log(2/eta) / (3 (m - 1)) above its expectation, V the sample variance;
and the same below. The values need not have one distribution. Here a value is the sum over a context.

Valid for: naive and balanced, when the largest possible weight is known; weighted, likewise, and for any
logger shares, because the bounds of all loggers hold at once; clipped ones always, as the clip bounds the
weights. Not for self-normalised estimates (a ratio has no such bound) nor for `dr` (its model is fitted on
rows of the same log, and its predictions have no bound).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import ndtr, ndtri

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput, short
from multilogger.components.evaluation.context_sums import Stratum, Summed, Sums, total_sums
from multilogger.components.evaluation.log_sums import MOST_BLOCKS, LogSums, LossOrGain, WeightKind
from multilogger.components.evaluation.point_estimates import Estimators

BLOCK_DRAWS = 2_000_000  # draws in memory at a time
BLOCK_CONTEXTS = 20_000  # contexts left out at a time by the jackknife
FEWEST_REPLICATES = 20  # with a value, for an interval
LEAST_ASKED, MOST_ASKED = 100, 100_000  # replicates; the sums of all are in memory


def check_replicates(asked: object, name: str) -> None:
    """Refuse a number of resamples that tells nothing, or that memory has no room for."""
    whole = isinstance(asked, Integral) and not isinstance(asked, bool)
    if not whole or not LEAST_ASKED <= int(asked) <= MOST_ASKED:  # type: ignore[call-overload]
        raise BadInput(f"{name} needs {LEAST_ASKED} to {MOST_ASKED:,} resamples, got {short(asked)}")


@dataclass(frozen=True)
class Interval:
    """Both ends of an interval."""

    low: float
    high: float

    @property
    def digits(self) -> int:
        """How many decimals show two figures of its width; 3 at least."""
        width = self.high - self.low
        return max(3, 1 - math.floor(math.log10(width))) if width > 0 and math.isfinite(width) else 3


@dataclass(frozen=True)
class Resampled:
    """An estimator over the resamples of a log."""

    standard_error: float
    percentile: Interval
    bca: Interval


def resample(
    strata: Sequence[Stratum],
    estimators: Estimators,
    replicates: int,
    level: float,
    rng: np.random.Generator,
    advance: Callable[[float], None] = lambda _: None,
) -> dict[str, Resampled]:
    """Standard error and intervals of every estimator, from the same resamples.

    Choice: of many contexts, random blocks are resampled. Their sums vary as those of contexts do, whatever
    their size, and 4,096 of them tell a standard error to about one part in a hundred.
    """
    strata = [stratum.in_blocks(MOST_BLOCKS, rng) for stratum in strata]
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
    sums = np.zeros((replicates, loggers, len(Summed)))
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


@dataclass(frozen=True)
class Values:
    """Independent values by their number, sum and sum of squares; each lies in an interval of some width."""

    count: float
    total: float
    squares: float
    width: float

    @property
    def mean(self) -> float:
        return self.total / self.count

    def deviation(self, eta: float) -> float:
        """How far their mean may lie on one side of its expectation."""
        if self.count < 2:
            return math.inf
        log_term = math.log(2.0 / eta)
        variance = max(0.0, self.squares - self.total**2 / self.count) / (self.count - 1)
        return math.sqrt(2.0 * variance * log_term / self.count) + 7.0 * self.width * log_term / (
            3.0 * (self.count - 1)
        )


@dataclass(frozen=True)
class Part:
    """Rows whose mean estimates the risk on its own: all of them, or those of one logger.

    The weighted loss and the weighted gain, what the loss lacks to its maximum, of each context; `share` is
    how much the part counts.
    """

    loss: Values
    gain: Values
    share: float


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
        low += part.share * (part.loss.mean - part.loss.deviation(eta))
        if clipped:
            high += part.share * (max_loss - part.gain.mean + part.gain.deviation(eta))
        else:
            high += part.share * (part.loss.mean + part.loss.deviation(eta))
    return Interval(max(0.0, low), min(max_loss, high))


def parts_of(
    sums: LogSums, kind: WeightKind, max_loss: float, counts: Vector, shares: Vector | None
) -> tuple[Part, ...]:
    """One part where all rows count the same, as in naive and balanced; one a logger that has a share, else.

    Y_c = (C/m) sum of a context's terms, so that the mean of Y over C contexts is the mean over m rows; Y_c
    lies in [0, (C/m) L sum of its rows' largest weights].
    """
    if shares is None:
        return (_part(sums, kind, max_loss, -1, float(counts.sum()), 1.0),)
    heard = np.flatnonzero(shares > 0)
    return tuple(_part(sums, kind, max_loss, int(j), float(counts[j]), float(shares[j])) for j in heard)


def _part(sums: LogSums, kind: WeightKind, max_loss: float, place: int, rows: float, share: float) -> Part:
    contexts = float(sums.contexts[place])
    scale = contexts / rows
    width = float(sums.most[place, kind]) * max_loss * scale
    loss, gain = (
        Values(
            contexts,
            float(sums.context_totals[place, kind, side]) * scale,
            float(sums.context_squares[place, kind, side]) * scale**2,
            width,
        )
        for side in LossOrGain
    )
    return Part(loss, gain, share)
