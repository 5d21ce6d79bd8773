"""Estimated risks from weights and losses summed up a chunk at a time, for logs that do not fit in memory.

Sums are exact, whatever the chunks. Weights span 1e7 and more, so they are kept relative to the largest one
so far, and products about their means.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from multilogger.components.actions.labels import Matrix, Vector
from multilogger.components.estimators.ips import Estimate, check_support


def unit(largest: float) -> float:
    """What weights are divided by; all may be 0."""
    return max(largest, float(np.finfo(np.float64).tiny))


def _no_mean() -> Vector:
    return np.zeros(2)


def _no_products() -> Matrix:
    return np.zeros((2, 2))


@dataclass(frozen=True, eq=False)
class LossMoments:
    """Means (2,) of w and v = w (delta - centre) and their products about the means (2, 2), of one logger.

    Both are relative to `scale`, the largest weight so far. A `centre` near the risk keeps v small, so that
    little is lost when the risk, known at the end alone, is put in its place.
    """

    centre: float
    count: int = 0
    scale: float = 0.0
    mean: Vector = field(default_factory=_no_mean)
    products: Matrix = field(default_factory=_no_products)

    def update(self, weights: Vector, delta: Vector) -> "LossMoments":
        """With one more chunk of w and delta, joined by Chan's rule."""
        scale = max(self.scale, float(weights.max()))
        scaled = weights / unit(scale)
        pairs = np.stack([scaled, scaled * (delta - self.centre)])
        fresh = pairs.mean(axis=1)
        about = pairs - fresh[:, None]
        shrink = unit(self.scale) / unit(scale)
        gap = fresh - self.mean * shrink
        count = self.count + len(weights)
        return LossMoments(
            centre=self.centre,
            count=count,
            scale=scale,
            mean=self.mean * shrink + gap * (len(weights) / count),
            products=self.products * shrink**2
            + about @ about.T
            + np.outer(gap, gap) * (self.count * len(weights) / count),
        )

    def rescaled(self, scale: float) -> "LossMoments":
        """The same relative to another scale."""
        shrink = unit(self.scale) / unit(scale)
        return LossMoments(self.centre, self.count, scale, self.mean * shrink, self.products * shrink**2)

    @property
    def squared_weights(self) -> float:
        """sum_i w^2, in units of scale^2."""
        return float(self.products[0, 0]) + self.count * float(self.mean[0]) ** 2

    def variance_about(self, risk: float) -> float:
        """Sample variance of w (delta - risk), in units of scale^2."""
        direction = np.array([self.centre - risk, 1.0])
        # Rounding may leave -1e-20 where all terms are equal.
        return max(0.0, float(direction @ self.products @ direction)) / (self.count - 1)


def estimate_from(moments: Sequence[LossMoments], lambdas: Vector, self_normalised: bool) -> Estimate:
    """The estimate of `estimators.py` from the moments of each logger's rows; lambdas (J,) as there.

    sum_j lambda_j sum_i w delta, divided by sum_j lambda_j sum_i w if self-normalised.
    """
    scale = max(moment.scale for moment in moments)
    scaled = [moment.rescaled(scale) for moment in moments]
    counts = np.array([moment.count for moment in scaled], dtype=np.float64)
    shares, centre = lambdas * counts, scaled[0].centre
    mean_w, mean_v = shares @ np.array([moment.mean for moment in scaled])
    if self_normalised:
        check_support(float(mean_w), int(counts.sum()))
        value, size = centre + float(mean_v / mean_w), 1.0 / float(mean_w)
    else:
        value, size = float(mean_v + centre * mean_w) * unit(scale), unit(scale)
    error = math.nan
    if (counts >= 2).all():
        about = value if self_normalised else 0.0
        variances = np.array([moment.variance_about(about) for moment in scaled])
        error = math.sqrt(float(np.sum(lambdas**2 * counts * variances))) * size
    squares = float(lambdas**2 @ np.array([moment.squared_weights for moment in scaled]))
    return Estimate(
        value=value,
        standard_error=error,
        mean_weight=float(mean_w) * unit(scale),
        effective_rows=float(mean_w) ** 2 / squares if squares > 0 else 0.0,
        lambdas=tuple(lambdas.tolist()),
    )
