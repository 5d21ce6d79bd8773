"""Weights and losses summed up a chunk at a time, for the estimators of `ips.py` on logs that stay on disk.

Sums are exact, whatever the chunks. Weights span 1e7 and more, so they are kept relative to the largest one
so far, and products about their means.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.ips import Mixed


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


class LoggerMoments:
    """The moments of every logger's rows, gathered chunk by chunk; `centre` is one for all."""

    def __init__(self, loggers: int, centre: float) -> None:
        self.centre = centre
        self.by_logger = [LossMoments(centre)] * loggers

    def add(self, logger: int, weights: Vector, delta: Vector) -> None:
        """Some rows of one logger."""
        self.by_logger[logger] = self.by_logger[logger].update(weights, delta)

    @property
    def counts(self) -> Vector:
        return np.array([moment.count for moment in self.by_logger], dtype=np.float64)

    @property
    def unit(self) -> float:
        return unit(self._scale)

    def mix(self, lambdas: Vector) -> Mixed:
        scaled = self._on_one_scale()
        weight, loss = (lambdas * self.counts) @ np.array([moment.mean for moment in scaled])
        squares = lambdas**2 @ np.array([moment.squared_weights for moment in scaled])
        return Mixed(float(weight), float(loss), float(squares))

    def standard_error(self, lambdas: Vector, risk: float, divisor: float) -> float:
        if (self.counts < 2).any():
            return math.nan
        variances = np.array([moment.variance_about(risk) for moment in self._on_one_scale()])
        return math.sqrt(float(np.sum(lambdas**2 * self.counts * variances))) * (1.0 / divisor)

    @property
    def _scale(self) -> float:
        return max(moment.scale for moment in self.by_logger)

    def _on_one_scale(self) -> list[LossMoments]:
        return [moment.rescaled(self._scale) for moment in self.by_logger]
