"""Measures of policies on a log on disk: each from one pass over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.labels import Matrix, Vector
from multilogger.components.estimators.ips import check_support
from multilogger.components.estimators.lambda_star import LoggerStats
from multilogger.components.estimators.moments import LossMoments, estimate_from, unit
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.learners.training.measure import Example, Look, Measure, Risk, Spread
from multilogger.components.learners.training.objectives import Objective
from multilogger.components.learners.training.record import FINITE_CLIP
from multilogger.components.learners.training.rules import Rules
from multilogger.components.learners.training.settings import LossShift
from multilogger.components.log.disk import Chunk, PolicyTable, StreamedLog


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


@dataclass(frozen=True)
class StreamedSums:
    """What one pass leaves of a policy, one entry a logger.

    On training rows: `clipped`, the objective's weights cut as it cuts them; `raw`, the same without a cut,
    for a running loss shift only; `train`, raw weights h/h_j. On validation rows: `validation`, raw weights
    h/h_j, and `moments` of h/h_avg.
    """

    clipped: tuple[LoggerStats, ...]
    raw: tuple[LoggerStats, ...]
    train: tuple[WeightSpread, ...]
    validation: tuple[WeightSpread, ...]
    moments: LoggerMoments


class StreamedLook(Look):
    """One policy, with its divergences over contexts and its sums over rows."""

    def __init__(self, measure: "StreamedMeasure", logits: Matrix) -> None:
        super().__init__(logits, measure.loggers, measure.counts, measure.objective.average)
        self.sums = measure.sums(logits)
        self._objective, self._rules = measure.objective, measure.rules

    def shares(self) -> Vector:
        return self._objective.shares_from(self.sums.clipped, self._rules)

    def train_risk(self, shares: Vector) -> float:
        return float(shares @ np.array([s.mean_u for s in self.sums.clipped]))

    def running_risk(self, shares: Vector) -> float:
        """Known for a running loss shift only."""
        raw = self.sums.raw
        mean_weight = float(shares @ np.array([s.mean_w for s in raw]))
        check_support(mean_weight, sum(s.count for s in raw))
        return float(shares @ np.array([s.mean_u for s in raw])) / mean_weight

    def validation_risk(self) -> Risk:
        return self_normalised_risk(self.sums.moments.by_logger)

    def train_spreads(self) -> tuple[Spread, ...]:
        return tuple(spread.figures for spread in self.sums.train)

    def validation_spreads(self) -> tuple[Spread, ...]:
        return tuple(spread.figures for spread in self.sums.validation)


class StreamedMeasure(Measure):
    """Measures policies of one run on both sides of the split, at one pass over the log each."""

    def __init__(self, log: StreamedLog, objective: Objective, rules: Rules) -> None:
        super().__init__(log, log.train.counts, objective, rules)
        self.log = log

    def look(self, logits: Matrix) -> StreamedLook:
        return StreamedLook(self, logits)

    def mean_losses(self) -> tuple[float, ...]:
        return tuple((self.log.train.delta_sums / self.log.train.counts).tolist())

    def log_propensities(self) -> Iterator[Vector]:
        return (chunk.log_propensity for chunk in self.log.chunks(validation=False))

    def contexts_of(self, logger: int) -> Tensor:
        return torch.from_numpy(np.flatnonzero(self.log.train_contexts[logger]))

    def logged_actions(self, logger: int, batch_rows: int, generator: torch.Generator) -> Iterator[Example]:
        """Row groups are drawn, the rows within one stay as they lie."""
        order = torch.randperm(len(self.log.groups[logger]), generator=generator).tolist()
        for chunk in self.log.train_chunks(logger, order, batch_rows):
            yield torch.from_numpy(chunk.context), torch.from_numpy(chunk.action).float()

    def sums(self, logits: Matrix) -> StreamedSums:
        """One pass over both sides."""
        policy, loggers = PolicyTable.of(logits), self.log.loggers
        clipped, raw = [LoggerStats()] * loggers, [LoggerStats()] * loggers
        train, validation = [WeightSpread()] * loggers, [WeightSpread()] * loggers
        moments = LoggerMoments(self.log)
        running = self.rules.loss_shift is LossShift.RUNNING
        for chunk in self.log.chunks():
            j, batch = chunk.logger, chunk.under(policy)
            finite = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
            if chunk.validation:
                validation[j] = validation[j].update(finite)
                moments.add(chunk, batch.log_target, chunk.log_average)
                continue
            train[j] = train[j].update(finite)
            denominator = chunk.log_average if self.objective.average else batch.log_propensity
            weights = importance_weights(batch.log_target, denominator, self.rules.weight_clip)
            with np.errstate(over="ignore"):  # squares of weights near 1e300, which only lambda* looks at
                clipped[j] = clipped[j].update(weights, batch.delta)
                if running:
                    raw[j] = raw[j].update(importance_weights(batch.log_target, denominator), batch.delta)
        return StreamedSums(tuple(clipped), tuple(raw), tuple(train), tuple(validation), moments)
