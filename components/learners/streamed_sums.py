"""Importance weights summed up a chunk at a time: every statistic of a record that is a sum over rows.

All are exact, whatever the chunks. Weights span 1e7 and more, so they are kept relative to the largest one so
far, and products about their means.
"""

from dataclasses import dataclass, field

import numpy as np

from multilogger.components.policies import Matrix, Vector


def _unit(largest: float) -> float:
    """What weights are divided by; all may be 0."""
    return max(largest, float(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class WeightSpread:
    """n, the largest weight, and sums of w and w^2 relative to it, of one logger."""

    count: int = 0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def update(self, weights: Vector) -> "WeightSpread":
        largest = max(self.largest, float(weights.max()))
        scaled = weights / _unit(largest)
        shrink = _unit(self.largest) / _unit(largest)
        return WeightSpread(
            count=self.count + len(weights),
            largest=largest,
            total=self.total * shrink + float(scaled.sum()),
            squares=self.squares * shrink**2 + float(scaled @ scaled),
        )

    @property
    def mean(self) -> float:
        """S_j."""
        return self.total / self.count * _unit(self.largest)

    @property
    def effective_share(self) -> float:
        """(sum w)^2 / (n sum w^2): 1 when all weights are equal, 1/n when one is all."""
        return self.total**2 / (self.count * self.squares) if self.squares > 0 else 0.0


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
        scaled = weights / _unit(scale)
        pairs = np.stack([scaled, scaled * (delta - self.centre)])
        fresh = pairs.mean(axis=1)
        about = pairs - fresh[:, None]
        shrink = _unit(self.scale) / _unit(scale)
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
        shrink = _unit(self.scale) / _unit(scale)
        return LossMoments(self.centre, self.count, scale, self.mean * shrink, self.products * shrink**2)

    def variance_about(self, risk: float) -> float:
        """Sample variance of w (delta - risk), in units of scale^2."""
        direction = np.array([self.centre - risk, 1.0])
        # Rounding may leave -1e-20 where all terms are equal.
        return max(0.0, float(direction @ self.products @ direction)) / (self.count - 1)
