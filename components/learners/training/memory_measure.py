"""Measures of policies on a log in memory."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.ips import equal_estimate, lambda_weighted_risk
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import SELF_NORMALISED, WeightRule, importance_weights
from multilogger.components.learners.training.measure import Example, Measure, Risk, Snapshot, Spread
from multilogger.components.learners.training.objectives import Objective, Rules
from multilogger.components.learners.training.record import FINITE_CLIP
from multilogger.components.log.memory import LogPart, TrainingLog


class MemorySnapshot(Snapshot):
    """One policy, by its logits on all contexts (m, q), and what follows from them, each computed once."""

    def __init__(self, measure: "MemoryMeasure", logits: Matrix) -> None:
        super().__init__(logits, measure)
        self._measure, self._objective, self._rules = measure, measure.objective, measure.rules

    @cached_property
    def train(self) -> LoggedBatch:
        """The training rows under this policy."""
        return self._measure.train.under(self.logits)

    @cached_property
    def validation(self) -> LoggedBatch:
        """The validation rows under this policy."""
        return self._measure.validation.under(self.logits)

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

    def train_spreads(self) -> tuple[Spread, ...]:
        return _spreads(self._measure.train, self.train)

    def validation_spreads(self) -> tuple[Spread, ...]:
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


def _spreads(part: LogPart, batch: LoggedBatch) -> tuple[Spread, ...]:
    weights = importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)
    loggers = [weights[rows] for rows in part.by_logger]
    return tuple(Spread(float(w.mean()), _effective_share(w), float(w.max()), len(w)) for w in loggers)


def _effective_share(weights: Vector) -> float:
    """(sum w)^2 / (n sum w^2): 1 when all weights are equal, 1/n when one is all."""
    scaled = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    squares = float(scaled @ scaled)
    return float(scaled.sum()) ** 2 / (len(weights) * squares) if squares > 0 else 0.0
