"""Learners that ascend a smoothed reward. Epochs are judged by the same smoothed reward on validation rows.

A policy that leaves the logged actions has no reward, so no guard is needed. Risks are told as
L (1 - smoothed reward), L the largest loss, which is on average too high.
"""

import math
from abc import abstractmethod

import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.smoothing import implicit_weights, log_smoothed, usual_smoothing
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.learners.smooth.method import IxSettings, LsSettings
from multilogger.components.learners.training.batch_learner import BatchLearner, mean_of
from multilogger.components.learners.training.objectives import BALANCED
from multilogger.components.learners.training.record import FINITE_CLIP, EpochRecord, OwnRisks, Risk
from multilogger.components.learners.training.row_batches import RowBatch
from multilogger.components.learners.training.settings import DescentSettings
from multilogger.components.log.disk import LearnerLog, PolicyTable
from multilogger.components.log.lots import Lot


class SmoothedLearner(BatchLearner):
    """A network policy that ascends the mean of a smoothed reward."""

    def __init__(self, log: LearnerLog, settings: DescentSettings, seed: int) -> None:
        super().__init__(log, BALANCED, settings, seed)
        self.log = log

    @property
    def usual(self) -> float:
        """The square root of the training rows."""
        return usual_smoothing(int(self.measure.counts.sum()))

    def batch_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> Tensor:
        rewards = (1.0 - rows.delta / self.measure.largest_loss).clamp(0.0, 1.0)
        return -self.measure.largest_loss * (shares @ self.smoothed(rows, rewards).mean(dim=1))

    def record(self, epoch: int) -> EpochRecord:
        """With the smoothed reward of both sides."""
        policy, largest = PolicyTable.of(self.log.space, self.snapshot().logits), self.measure.largest_loss

        def risk(rows: Lot) -> Vector:
            log_target = policy.log_probability(rows.context, rows.action)
            rewards = (1.0 - rows.delta / largest).clip(0.0, 1.0)
            return largest * (1.0 - self.values(log_target, rows.log_average, rewards))

        train, validation = (mean_of(self.log, side, risk) for side in (False, True))
        own = OwnRisks(train.value, Risk(validation.value, validation.standard_error))
        return self.measure.record(epoch, self.snapshot(), self.shares, own=own)

    @abstractmethod
    def smoothed(self, rows: RowBatch, rewards: Tensor) -> Tensor:
        """The smoothed reward of each row, with its gradient: (J, B)."""

    @abstractmethod
    def values(self, log_target: Vector, log_average: Vector, rewards: Vector) -> Vector:
        """The same in float64: (n,)."""


class LogSmoothingLearner(SmoothedLearner):
    """M log(1 + w r / M) from logarithms; its gradient is at most M times that of log h."""

    settings: LsSettings

    @property
    def smoothing(self) -> float:
        return self.settings.smoothing or self.usual

    def smoothed(self, rows: RowBatch, rewards: Tensor) -> Tensor:
        # Of a reward of 0 the logarithm would be -inf, which is no number times a gradient of 0.
        log_reward = rewards.clamp_min(torch.finfo(rewards.dtype).tiny).log()
        log_gain = self.log_target(rows) - rows.log_denominator + log_reward
        log_gain = log_gain - math.log(self.smoothing)
        return self.smoothing * torch.logaddexp(log_gain, torch.zeros_like(log_gain))

    def values(self, log_target: Vector, log_average: Vector, rewards: Vector) -> Vector:
        return log_smoothed(
            importance_weights(log_target, log_average, FINITE_CLIP) * rewards, self.smoothing
        )


class ImplicitLearner(SmoothedLearner):
    """r h / (h_avg + gamma)."""

    settings: IxSettings

    @property
    def gamma(self) -> float:
        return self.settings.gamma or 0.5 / self.usual

    def smoothed(self, rows: RowBatch, rewards: Tensor) -> Tensor:
        raised = torch.logaddexp(rows.log_denominator, torch.tensor(math.log(self.gamma)))
        return rewards * torch.exp(self.log_target(rows) - raised)

    def values(self, log_target: Vector, log_average: Vector, rewards: Vector) -> Vector:
        return rewards * implicit_weights(log_target, log_average, self.gamma)
