"""The record of an epoch from one pass over a log on disk: the figures of `epoch_record.py`, as sums."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from multilogger.components.estimators import check_support
from multilogger.components.importance import importance_weights
from multilogger.components.lambda_star import LoggerStats
from multilogger.components.learners.context_look import ContextLook
from multilogger.components.learners.epoch_record import (
    FINITE_CLIP,
    EpochRecord,
    expm1_or_inf,
    validation_score,
)
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.streamed_log import PolicyTable, StreamedLog
from multilogger.components.learners.streamed_sums import LossMoments, WeightSpread
from multilogger.components.policies import Matrix, Vector
from multilogger.components.torch_policies import KnownLoggers


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
    moments: tuple[LossMoments, ...]


class Risk(NamedTuple):
    """A self-normalised risk and its standard error, NaN when a logger has a single row."""

    value: float
    standard_error: float


class StreamedLook(ContextLook):
    """One policy, with its divergences over contexts and its sums over rows."""

    def __init__(self, measure: "StreamedMeasure", logits: Matrix) -> None:
        super().__init__(logits, measure.loggers, measure.log.train.counts, measure.objective.average)
        self.sums = measure.sums(logits)


class StreamedMeasure:
    """Measures policies of one run on both sides of the split, at one pass over the log each."""

    def __init__(self, log: StreamedLog, objective: Objective, settings: LearnerSettings) -> None:
        self.log, self.objective, self.settings = log, objective, settings
        self.loggers = KnownLoggers.of(log.logger_logits) if log.logger_logits else None

    def look(self, logits: Matrix) -> StreamedLook:
        """A policy given by its logits on all contexts (m, q)."""
        return StreamedLook(self, logits)

    def sums(self, logits: Matrix) -> StreamedSums:
        """One pass over both sides."""
        policy, loggers = PolicyTable.of(logits), self.log.loggers
        side = self.log.validation
        centre = float(side.delta_sums.sum() / side.counts.sum())
        clipped, raw = [LoggerStats()] * loggers, [LoggerStats()] * loggers
        train, validation = [WeightSpread()] * loggers, [WeightSpread()] * loggers
        moments = [LossMoments(centre)] * loggers
        running = self.settings.loss_shift is LossShift.RUNNING
        for chunk in self.log.chunks():
            j, batch = chunk.logger, chunk.under(policy)
            finite = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
            if chunk.validation:
                validation[j] = validation[j].update(finite)
                weights = importance_weights(batch.log_target, chunk.log_average)
                moments[j] = moments[j].update(weights, batch.delta)
                continue
            train[j] = train[j].update(finite)
            denominator = chunk.log_average if self.objective.average else batch.log_propensity
            weights = importance_weights(batch.log_target, denominator, self.settings.weight_clip)
            with np.errstate(over="ignore"):  # squares of weights near 1e300, which only lambda* looks at
                clipped[j] = clipped[j].update(weights, batch.delta)
                if running:
                    raw[j] = raw[j].update(importance_weights(batch.log_target, denominator), batch.delta)
        return StreamedSums(tuple(clipped), tuple(raw), tuple(train), tuple(validation), tuple(moments))

    def train_risk(self, sums: StreamedSums, shares: Vector) -> float:
        """The method's own estimate on the training split: sum_j lambda_j sum_i w delta."""
        return float(shares @ np.array([s.mean_u for s in sums.clipped]))

    def running_risk(self, sums: StreamedSums, shares: Vector) -> float:
        """The same without a cut, divided by sum_j lambda_j sum_i w."""
        mean_weight = float(shares @ np.array([s.mean_w for s in sums.raw]))
        check_support(mean_weight, int(self.log.train.counts.sum()))
        return float(shares @ np.array([s.mean_u for s in sums.raw])) / mean_weight

    def record(self, epoch: int, look: StreamedLook, shares: Vector) -> EpochRecord:
        """Everything about one epoch."""
        sums = look.sums
        constraint = expm1_or_inf(look.log_constraint(shares))
        risk = self_normalised_risk(sums.moments)
        return EpochRecord(
            epoch=epoch,
            train_risk=self.train_risk(sums, shares),
            validation_risk=risk.value,
            validation_score=validation_score(risk.value, risk.standard_error, self.settings.pessimism),
            eligible=self.eligible(sums.validation),
            share=tuple(shares.tolist()),
            mean_weight=tuple(s.mean for s in sums.train),
            effective_share=tuple(s.effective_share for s in sums.train),
            largest_weight=tuple(s.largest for s in sums.train),
            log_d2=tuple(look.log_d2.tolist()),
            variational=(math.nan,) * self.log.loggers,
            constraint=constraint,
            slack=self.settings.kappa - constraint,
        )

    def eligible(self, spreads: Sequence[WeightSpread]) -> bool:
        """Whether the better-supported logger, that of the largest effective share, has S near 1."""
        best = max(spreads, key=lambda spread: spread.effective_share)
        return bool(self.settings.least_mean_weight <= best.mean <= self.settings.most_mean_weight)


def self_normalised_risk(moments: Sequence[LossMoments]) -> Risk:
    """sum_i w delta / sum_i w over all loggers, with the standard error of the delta method.

    Deviations from the mean are taken within each logger, as `estimators.py` does for rows in memory.
    """
    scale = max(moment.scale for moment in moments)
    scaled = [moment.rescaled(scale) for moment in moments]
    counts = np.array([moment.count for moment in scaled], dtype=np.float64)
    rows = counts.sum()
    mean_w, mean_v = np.array([moment.mean for moment in scaled]).T @ counts / rows
    check_support(float(mean_w), int(rows))
    value = scaled[0].centre + float(mean_v / mean_w)
    if (counts < 2).any():
        return Risk(value, math.nan)
    variances = np.array([moment.variance_about(value) for moment in scaled])
    return Risk(value, math.sqrt(float(counts @ variances)) / float(rows * mean_w))
