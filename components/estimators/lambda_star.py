"""Logger weights of the weighted IPS estimator, from one streaming pass over the log.

u = w delta is the importance-weighted loss, w = h / h_j the importance weight.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.logged_batch import Loggers

# Choice: the floor only keeps 0/0 away. A higher one would make u / S small where a policy has left a
# logger's support, and so reward that logger with a small divergence.
S_FLOOR = 1e-12
# A logger is silent of a policy if 99 % of what the policy does is not in its rows, or if so few of them, in
# number and among its own, count at all that chance decides what they say.
SILENT_MEAN_WEIGHT = 0.01
SILENT_EFFECTIVE_ROWS, SILENT_EFFECTIVE_SHARE = 20.0, 0.05
ROUNDING = 1e-12  # a spread below this share of the mean is rounding, not information
SAME_LOSS = 1e-9  # the same of sums of squares, which are differences of larger sums


@dataclass(frozen=True)
class LoggerStats:
    """Sufficient statistics of one logger: n_j, sum_i w, sum_i u, sum_i (u - mean u)^2, and sum_i w^2.

    Choice: squares are kept about the running mean (Chan's rule for joining two parts), not as sum u^2,
    because weights span 1e7 and a difference of large sums would lose the digits that matter.
    """

    count: int = 0
    sum_w: float = 0.0
    sum_u: float = 0.0
    squares: float = 0.0
    sum_ww: float = 0.0

    @property
    def mean_w(self) -> float:
        """S^j, the mean weight: 1 in expectation."""
        return self.sum_w / self.count

    @property
    def mean_u(self) -> float:
        return self.sum_u / self.count

    def update(self, weights: Vector, delta: Vector) -> "LoggerStats":
        """These statistics with one more chunk of the same logger, w and delta of (m,) each."""
        if weights.shape != delta.shape:
            raise BadInput(f"a chunk needs one weight a loss, got {weights.shape} and {delta.shape}")
        if len(delta) == 0:
            return self
        u = weights * delta
        if not (np.isfinite(weights).all() and np.isfinite(u).all()):
            raise BadInput("weights and losses must be finite, got NaN or infinity; clip the weights")
        chunk = LoggerStats(
            count=len(u),
            sum_w=float(weights.sum()),
            sum_u=float(u.sum()),
            squares=float(np.square(u - u.mean()).sum()),
            sum_ww=float(weights @ weights),
        )
        return self.merge(chunk)

    def merge(self, other: "LoggerStats") -> "LoggerStats":
        """The statistics of both parts of one logger's log together."""
        if self.count == 0 or other.count == 0:
            return other if self.count == 0 else self
        count = self.count + other.count
        between = (self.mean_u - other.mean_u) ** 2 * (self.count * other.count / count)
        return LoggerStats(
            count=count,
            sum_w=self.sum_w + other.sum_w,
            sum_u=self.sum_u + other.sum_u,
            squares=self.squares + other.squares + between,
            sum_ww=self.sum_ww + other.sum_ww,
        )


Stats = Sequence[LoggerStats]
Some = TypeVar("Some", float, Vector)


def update_stats(stats: Stats, logger: Loggers, weights: Vector, delta: Vector) -> tuple[LoggerStats, ...]:
    """All loggers' statistics with one more chunk of a mixed log; start from `(LoggerStats(),) * J`."""
    if len(logger) and not 0 <= logger.min() <= logger.max() < len(stats):
        raise BadInput(
            f"logger ids must lie in 0..{len(stats) - 1}, got {logger.min()} to {logger.max()}; "
            "number the loggers from 0"
        )
    return tuple(s.update(weights[logger == j], delta[logger == j]) for j, s in enumerate(stats))


def self_normalised_divergence(stats: Stats, floor: float = S_FLOOR) -> Vector:
    """sigma~^2_delta(h||h_j), the self-normalised divergence estimate of section 5.1.2: (J,).

    1/(n_j - 1) sum_i (u_i / S^j - u_bar)^2,  u_bar = (1/n) sum_j sum_i u_i  over all loggers, as printed.

    With m_j the mean of u within logger j the square expands, without a second pass, to
    [ sum_i (u_i - m_j)^2 / (S^j)^2 + n_j (m_j / S^j - u_bar)^2 ] / (n_j - 1).
    """
    _check_counts(stats)
    u_bar = math.fsum(s.sum_u for s in stats) / sum(s.count for s in stats)
    return np.array(
        [
            _about(s.squares, float(s.count), s.mean_u, max(s.mean_w, floor), u_bar) / (s.count - 1)
            for s in stats
        ]
    )


def lambda_star(stats: Stats) -> Vector:
    """Variance-minimising logger weights (section 2.1.1): (J,).

    lambda*_j = 1 / (s2_j sum_k n_k / s2_k),  hence  sum_j n_j lambda*_j = 1,

    with s2_j the divergence estimate of logger j. A logger whose weighted losses are all equal has no weight,
    as in `supported_shares`, unless nobody's differ.
    """
    alike = np.array([_all_alike(s) for s in stats])
    s2 = self_normalised_divergence(stats)
    if alike.all():
        means = ", ".join(f"{s.mean_u:g}" for s in stats)
        raise BadInput(
            f"the weighted losses of each logger are all equal ({means}), so nothing tells how well the "
            "loggers speak of the policy: mend the losses"
        )
    s2[alike] = np.inf
    if not (np.isfinite(s2[~alike]).all() and (s2 > 0).all()):
        raise BadInput(
            f"every logger needs a positive divergence estimate, got {s2.tolist()}; "
            "the policy has no support in the log: start from one closer to a logger"
        )
    n = np.array([s.count for s in stats], dtype=np.float64)
    # Dividing by the smallest first keeps the sum in range when the divergences are huge.
    precision = s2.min() / s2
    return np.asarray(precision / np.sum(n * precision), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LoggerSums:
    """The statistics of J loggers as arrays (..., J), the axes before them those of resamples of a log."""

    count: Vector
    sum_w: Vector
    sum_u: Vector
    squares: Vector
    sum_ww: Vector

    @classmethod
    def of(cls, stats: Stats) -> "LoggerSums":
        """Those of a log itself: (J,) each."""
        return cls(*np.array([astuple(s) for s in stats], dtype=np.float64).T)


def supported_shares(sums: LoggerSums, counts: Vector) -> Vector:
    """n_j lambda*_j (section 2.1.1) for an estimate that is to be reported: (..., J), adding up to 1.

    `counts` (J,) are the n_j of the log; a resample has its own statistics but not its own shares of rows.

    Choice: a logger that all but never acts as the policy, its weights all 0 or near it, or borne by a
    handful of rows, has no share, and the others are weighed as if it were not in the log. Printed literally,
    section 5.1.2 finds a small divergence where nearly all u are 0, or where the few that are not happen to
    be alike, and gives such a logger much of the weight or all of it. The mean weight alone does not tell:
    three rows of 400 may carry a mean weight of 1. Nor has a logger a share all of whose rows that count have
    one loss: how far its losses spread is not in its rows, and its divergence is found too small. If no
    logger is left, shares are n_j / n. Learning uses `lambda_star` as printed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_w = sums.sum_w / sums.count
        effective = np.square(sums.sum_w) / sums.sum_ww
        few = (effective < SILENT_EFFECTIVE_ROWS) & (effective < SILENT_EFFECTIVE_SHARE * sums.count)
        heard = np.where((mean_w <= SILENT_MEAN_WEIGHT) | few | _one_loss(sums), 0.0, 1.0)
        u_bar = np.vecdot(heard, sums.sum_u) / np.vecdot(heard, sums.count)
        scale = np.maximum(mean_w, S_FLOOR)
        spread = _about(sums.squares, sums.count, sums.sum_u / sums.count, scale, u_bar[..., None])
        precision = np.where(heard > 0, counts * (sums.count - 1.0) / spread, 0.0)
        # No spread at all, equal losses and weights in all rows of a logger: nothing beats it.
        exact = np.isinf(precision)
        precision = np.where(exact.any(axis=-1, keepdims=True), exact.astype(np.float64), precision)
        total = precision.sum(axis=-1, keepdims=True)
        return np.asarray(np.where(total > 0, precision / total, counts / counts.sum()))


def supported_lambda_star(stats: Stats) -> Vector:
    """lambda* of the shares above: (J,)."""
    sums = LoggerSums.of(stats)
    return supported_shares(sums, sums.count) / sums.count


def _one_loss(sums: LoggerSums) -> NDArray[np.bool_]:
    """Whether all losses of a logger are one c, but where weights are next to 0: (..., J).

    Then sum u^2 = c^2 sum w^2 with c = sum u / sum w.
    """
    squares = sums.squares + np.square(sums.sum_u) / sums.count
    constant = np.square(sums.sum_u / sums.sum_w) * sums.sum_ww
    return np.asarray(np.abs(squares - constant) <= SAME_LOSS * constant)


def _about(squares: Some, count: Some, mean_u: Some, scale: Some, centre: Some) -> Some:
    """sum_i (u_i / scale - centre)^2."""
    return squares / scale**2 + count * (mean_u / scale - centre) ** 2


def _check_counts(stats: Stats) -> None:
    for j, s in enumerate(stats):
        if s.count < 2:
            raise BadInput(
                f"logger {j} needs at least 2 rows for a divergence estimate, got {s.count}; "
                "log more of it or drop it"
            )


def _all_alike(stats: LoggerStats) -> bool:
    """Whether every u is the same; not where the policy has left the logger's support and every w is 0."""
    spread = math.sqrt(stats.squares / stats.count)
    return stats.mean_w > S_FLOOR and spread <= ROUNDING * abs(stats.mean_u)
