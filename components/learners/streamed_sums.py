"""Importance weights summed up a chunk at a time, exactly, whatever the chunks."""

from dataclasses import dataclass

from multilogger.components.learners.measure import Spread
from multilogger.components.loss_moments import unit
from multilogger.components.policies import Vector


@dataclass(frozen=True)
class WeightSpread:
    """n, the largest weight, and sums of w and w^2 relative to it, of one logger."""

    count: int = 0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def update(self, weights: Vector) -> "WeightSpread":
        largest = max(self.largest, float(weights.max()))
        scaled = weights / unit(largest)
        shrink = unit(self.largest) / unit(largest)
        return WeightSpread(
            count=self.count + len(weights),
            largest=largest,
            total=self.total * shrink + float(scaled.sum()),
            squares=self.squares * shrink**2 + float(scaled @ scaled),
        )

    @property
    def figures(self) -> Spread:
        """S_j, (sum w)^2 / (n sum w^2) and the largest weight."""
        share = self.total**2 / (self.count * self.squares) if self.squares > 0 else 0.0
        return Spread(self.total / self.count * unit(self.largest), share, self.largest)
