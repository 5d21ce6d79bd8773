"""Measures of policies from one pass over a log on disk: the figures of `memory_measure.py`, as sums."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.estimators import check_support
from multilogger.components.importance import importance_weights
from multilogger.components.lambda_star import LoggerStats
from multilogger.components.learners.epoch_record import FINITE_CLIP
from multilogger.components.learners.measure import Example, Look, Measure, Risk, Spread
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.streamed_log import PolicyTable, StreamedLog
from multilogger.components.learners.streamed_sums import (
    LoggerMoments,
    WeightSpread,
    self_normalised_risk,
)
from multilogger.components.policies import Matrix, Vector


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
        self._objective, self._settings = measure.objective, measure.settings

    def shares(self) -> Vector:
        return self._objective.shares_from(self.sums.clipped, self._settings)

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

    def __init__(self, log: StreamedLog, objective: Objective, settings: LearnerSettings) -> None:
        super().__init__(log, log.train.counts, objective, settings)
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
        running = self.settings.loss_shift is LossShift.RUNNING
        for chunk in self.log.chunks():
            j, batch = chunk.logger, chunk.under(policy)
            finite = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
            if chunk.validation:
                validation[j] = validation[j].update(finite)
                moments.add(chunk, batch.log_target, chunk.log_average)
                continue
            train[j] = train[j].update(finite)
            denominator = chunk.log_average if self.objective.average else batch.log_propensity
            weights = importance_weights(batch.log_target, denominator, self.settings.weight_clip)
            with np.errstate(over="ignore"):  # squares of weights near 1e300, which only lambda* looks at
                clipped[j] = clipped[j].update(weights, batch.delta)
                if running:
                    raw[j] = raw[j].update(importance_weights(batch.log_target, denominator), batch.delta)
        return StreamedSums(tuple(clipped), tuple(raw), tuple(train), tuple(validation), moments)
