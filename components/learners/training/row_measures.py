"""Measures of policies on the rows of a log: in memory, or on disk, each from one pass over it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.ips import (
    check_support,
    equal_estimate,
    lambda_weighted_risk,
    mixed_risk,
)
from multilogger.components.estimators.lambda_star import LoggerStats
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.moments import LoggerMoments, unit
from multilogger.components.estimators.weights import SELF_NORMALISED, WeightRule, importance_weights
from multilogger.components.learners.training.measure import Example, LoggerWeights, Measure, Snapshot
from multilogger.components.learners.training.objectives import Objective, Rules
from multilogger.components.learners.training.record import FINITE_CLIP, Risk
from multilogger.components.learners.training.settings import LossShift
from multilogger.components.log.disk import PolicyTable, StreamedLog
from multilogger.components.log.memory import SideRows, TrainingLog


class MemorySnapshot(Snapshot):
    """One policy, by its logits on all contexts (m, q), and what follows from them, each computed once."""

    def __init__(self, measure: "MemoryMeasure", logits: Matrix) -> None:
        super().__init__(logits, measure)
        self._measure, self._objective, self._rules = measure, measure.objective, measure.rules

    @cached_property
    def _normaliser(self) -> Vector:
        return self._measure.train.space.log_normaliser(self.logits)

    @cached_property
    def train(self) -> LoggedBatch:
        """The training rows under this policy."""
        return self._measure.train.under(self.logits, self._normaliser)

    @cached_property
    def validation(self) -> LoggedBatch:
        """The validation rows under this policy."""
        return self._measure.validation.under(self.logits, self._normaliser)

    def shares(self) -> Vector:
        return self._objective.shares(self.train, self._rules)

    def train_risk(self, shares: Vector) -> float:
        return self._risk(shares, WeightRule(self._rules.weight_clip))

    def running_risk(self, shares: Vector) -> float:
        return self._risk(shares, SELF_NORMALISED)

    def _risk(self, shares: Vector, rule: WeightRule) -> float:
        if self._objective.average:
            rows = self._measure.train.average_rows(self.train, rule.clip)
            return equal_estimate(rows, rule.self_normalised).value
        return lambda_weighted_risk(self.train, shares / self.train.counts, rule).value

    def validation_risk(self) -> Risk:
        rows = self._measure.validation.average_rows(self.validation)
        return Risk.of(equal_estimate(rows, self_normalised=True))

    def train_weights(self) -> tuple[LoggerWeights, ...]:
        return _spreads(self._measure.train, self.train)

    def validation_weights(self) -> tuple[LoggerWeights, ...]:
        return _spreads(self._measure.validation, self.validation)


class MemoryMeasure(Measure):
    """Measures policies of one run on the `train` and `validation` rows, which it holds."""

    def __init__(self, log: TrainingLog, objective: Objective, rules: Rules) -> None:
        self.train, self.validation = log.part(validation=False), log.part(validation=True)
        super().__init__(log, self.train.counts, objective, rules)

    def snapshot(self, logits: Matrix) -> MemorySnapshot:
        return MemorySnapshot(self, logits)

    def mean_losses(self) -> tuple[float, ...]:
        return tuple(float(self.train.delta[rows].mean()) for rows in self.train.by_logger)

    def log_propensities(self) -> Iterator[Vector]:
        yield self.train.log_propensity

    def contexts_of(self, logger: int) -> Tensor:
        return torch.from_numpy(np.unique(self.train.context[self.train.by_logger[logger]]))

    def logged_actions(self, logger: int, batch_rows: int, generator: torch.Generator) -> Iterator[Example]:
        rows = self.train.by_logger[logger]
        context, action = self.train.context[rows], self.train.action[rows]
        order = torch.randperm(len(context), generator=generator)
        for chosen in torch.tensor_split(order, max(1, len(order) // batch_rows)):
            yield torch.from_numpy(context[chosen]), self.space.actions(action[chosen])


def _spreads(part: SideRows, batch: LoggedBatch) -> tuple[LoggerWeights, ...]:
    weights = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
    loggers = [weights[rows] for rows in part.by_logger]
    return tuple(LoggerWeights(float(w.mean()), _effective_share(w), float(w.max()), len(w)) for w in loggers)


def _effective_share(weights: Vector) -> float:
    """(sum w)^2 / (n sum w^2): 1 when all weights are equal, 1/n when one is all."""
    scaled = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    squares = float(scaled @ scaled)
    return float(scaled.sum()) ** 2 / (len(weights) * squares) if squares > 0 else 0.0


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
    def figures(self) -> LoggerWeights:
        """S_j, (sum w)^2 / (n sum w^2) and the largest weight."""
        share = self.total**2 / (self.count * self.squares) if self.squares > 0 else 0.0
        return LoggerWeights(self.total / self.count * unit(self.largest), share, self.largest, self.count)


@dataclass(frozen=True)
class StreamedSums:
    """What one pass leaves of a policy, one entry per logger.

    On training rows: `clipped`, the objective's weights cut as it cuts them; `raw`, the same without a cut,
    for a running loss shift only; `train`, raw weights h/h_j. On validation rows: `validation`, raw weights
    h/h_j, and `moments` of h/h_avg.
    """

    clipped: tuple[LoggerStats, ...]
    raw: tuple[LoggerStats, ...]
    train: tuple[WeightSpread, ...]
    validation: tuple[WeightSpread, ...]
    moments: LoggerMoments


class StreamedSnapshot(Snapshot):
    """One policy, with its divergences over contexts and its sums over rows."""

    def __init__(self, measure: "StreamedMeasure", logits: Matrix) -> None:
        super().__init__(logits, measure)
        self.sums = measure.sums(logits)
        self._objective, self._rules = measure.objective, measure.rules

    def shares(self) -> Vector:
        return self._objective.shares_from(self.sums.clipped, self._rules)

    def train_risk(self, shares: Vector) -> float:
        return float(mixed_risk(shares, np.array([s.mean_u for s in self.sums.clipped])))

    def running_risk(self, shares: Vector) -> float:
        """Known for a running loss shift only."""
        mean_u = np.array([s.mean_u for s in self.sums.raw])
        mean_w = np.array([s.mean_w for s in self.sums.raw])
        check_support(float(mixed_risk(shares, mean_w)), sum(s.count for s in self.sums.raw))
        return float(mixed_risk(shares, mean_u, mean_w))

    def validation_risk(self) -> Risk:
        return Risk.of(equal_estimate(self.sums.moments, self_normalised=True))

    def train_weights(self) -> tuple[LoggerWeights, ...]:
        return tuple(spread.figures for spread in self.sums.train)

    def validation_weights(self) -> tuple[LoggerWeights, ...]:
        return tuple(spread.figures for spread in self.sums.validation)


class StreamedMeasure(Measure):
    """Measures policies of one run on both sides of the split, at one pass over the log each."""

    def __init__(self, log: StreamedLog, objective: Objective, rules: Rules) -> None:
        super().__init__(log, log.train.counts, objective, rules)
        self.log = log

    def snapshot(self, logits: Matrix) -> StreamedSnapshot:
        return StreamedSnapshot(self, logits)

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
            yield torch.from_numpy(chunk.context), self.space.actions(chunk.action)

    def sums(self, logits: Matrix) -> StreamedSums:
        """One pass over both sides."""
        policy, loggers = PolicyTable.of(self.log.space, logits), self.log.loggers
        clipped, raw = [LoggerStats()] * loggers, [LoggerStats()] * loggers
        train, validation = [WeightSpread()] * loggers, [WeightSpread()] * loggers
        moments = LoggerMoments(loggers, self.log.validation.mean_loss)
        running = self.rules.loss_shift is LossShift.RUNNING
        for chunk in self.log.chunks():
            j, batch = chunk.logger, chunk.under(policy)
            finite = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
            if chunk.validation:
                validation[j] = validation[j].update(finite)
                moments.add(j, importance_weights(batch.log_target, chunk.log_average), chunk.delta)
                continue
            train[j] = train[j].update(finite)
            denominator = chunk.log_average if self.objective.average else batch.log_propensity
            weights = importance_weights(batch.log_target, denominator, self.rules.weight_clip)
            with np.errstate(over="ignore"):  # squares of weights near 1e300, which only lambda* looks at
                clipped[j] = clipped[j].update(weights, batch.delta)
                if running:
                    raw[j] = raw[j].update(importance_weights(batch.log_target, denominator), batch.delta)
        return StreamedSums(tuple(clipped), tuple(raw), tuple(train), tuple(validation), moments)
