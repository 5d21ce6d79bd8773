"""Importance weights and weighted losses summed up a chunk at a time, exactly, whatever the chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.importance import importance_weights
from multilogger.components.learners.measure import Risk, Spread
from multilogger.components.learners.streamed_log import Chunk, StreamedLog
from multilogger.components.loss_moments import LossMoments, estimate_from, unit
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
        return Spread(self.total / self.count * unit(self.largest), share, self.largest, self.count)


class LoggerMoments:
    """Weighted losses of the validation rows of a log on disk under one policy, gathered logger by logger."""

    def __init__(self, log: StreamedLog) -> None:
        side = log.validation
        self.by_logger = [LossMoments(float(side.delta_sums.sum() / side.counts.sum()))] * log.loggers

    def add(self, chunk: Chunk, log_target: Vector, log_denominator: Vector) -> None:
        """With raw weights h over h_j or h_avg, whichever the denominator (n,) is of."""
        weights = importance_weights(log_target, log_denominator)
        self.by_logger[chunk.logger] = self.by_logger[chunk.logger].update(weights, chunk.delta)


def self_normalised_risk(moments: Sequence[LossMoments]) -> Risk:
    """sum_i w delta / sum_i w over all loggers, with the standard error of the delta method."""
    rows = sum(moment.count for moment in moments)
    estimate = estimate_from(moments, np.full(len(moments), 1.0 / rows), self_normalised=True)
    return Risk(estimate.value, estimate.standard_error)
