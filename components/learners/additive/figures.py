"""What an additive model and its policies are worth on a log in memory, or on one on disk."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch

from multilogger.components.actions.labels import Matrix
from multilogger.components.estimators.doubly_robust import ModelledLoss, balanced_doubly_robust
from multilogger.components.estimators.ips import equal_estimate
from multilogger.components.estimators.moments import LoggerMoments
from multilogger.components.estimators.weights import WeightRule, importance_weights
from multilogger.components.learners.additive.model import additive_loss, expected_additive_loss
from multilogger.components.learners.additive.rows import AdditiveRows, ContextMoments, GroupedRows
from multilogger.components.learners.training.measure import Risk
from multilogger.components.log.disk import LearnerLog, PolicyTable, StreamedLog
from multilogger.components.log.memory import LogPart


class ModelFigures(NamedTuple):
    """Of a model and a policy: the mean squared error of all rows, the model's own estimate of the policy's
    risk on the contexts of training rows, and its doubly robust correction on validation rows.
    """

    squared_error: float
    modelled_risk: float
    corrected_risk: float


class AdditiveFigures(Protocol):
    """Figures of models p (m, q) and of policies by their logits (m, q)."""

    def squared_error(self, p: Matrix) -> float: ...

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures: ...

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        """The self-normalised balanced risk of each policy on validation rows."""


class AdditiveView(NamedTuple):
    """What an additive model is fitted to, and what is measured of it."""

    rows: AdditiveRows
    figures: AdditiveFigures


class MemoryFigures:
    """From rows in memory."""

    def __init__(self, train: LogPart, validation: LogPart) -> None:
        self.train, self.validation = train, validation

    def squared_error(self, p: Matrix) -> float:
        parts = (self.train, self.validation)
        squares = [np.square(part.delta - additive_loss(p[part.context], part.action)) for part in parts]
        return float(np.concatenate(squares).mean())

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures:
        modelled = additive_predictions(self.validation, p, logits)
        corrected = balanced_doubly_robust(self.validation.under(logits), modelled, WeightRule(clip))
        return ModelFigures(
            squared_error=self.squared_error(p),
            modelled_risk=float(additive_predictions(self.train, p, logits).q_target.mean()),
            corrected_risk=corrected.value,
        )

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        rows = [self.validation.average_rows(self.validation.under(logits)) for logits in policies]
        return [Risk.of(equal_estimate(one, self_normalised=True)) for one in rows]


class StreamedFigures:
    """From the moments of training rows, and one pass over the validation rows for each question."""

    def __init__(self, log: StreamedLog, moments: ContextMoments) -> None:
        self.log, self.moments = log, moments

    def squared_error(self, p: Matrix) -> float:
        squares = self._train_squares(p)
        for chunk in self.log.chunks(validation=True):
            residual = chunk.delta - additive_loss(p[chunk.context], chunk.action)
            squares += float(residual @ residual)
        return squares / self.log.rows

    def _train_squares(self, p: Matrix) -> float:
        return float(self.moments.squared_residuals(torch.from_numpy(p)[self.moments.context]).sum())

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures:
        """All three in one pass."""
        policy, expected = PolicyTable.of(self.log.space, logits), expected_additive_loss(p, logits)
        squares, corrected = self._train_squares(p), 0.0
        for chunk in self.log.chunks(validation=True):
            residual = chunk.delta - additive_loss(p[chunk.context], chunk.action)
            weights = importance_weights(chunk.under(policy).log_target, chunk.log_average, clip)
            squares += float(residual @ residual)
            corrected += float(expected[chunk.context].sum() + weights @ residual)
        counts = self.log.train_contexts.sum(axis=0)
        return ModelFigures(
            squared_error=squares / self.log.rows,
            modelled_risk=float(counts @ expected / counts.sum()),
            corrected_risk=corrected / float(self.log.validation.counts.sum()),
        )

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        tables = [PolicyTable.of(self.log.space, logits) for logits in policies]
        moments = [LoggerMoments(self.log.loggers, self.log.validation.mean_loss) for _ in tables]
        for chunk in self.log.chunks(validation=True):
            for own, policy in zip(moments, tables, strict=True):
                weights = importance_weights(chunk.under(policy).log_target, chunk.log_average)
                own.add(chunk.logger, weights, chunk.delta)
        return [Risk.of(equal_estimate(own, self_normalised=True)) for own in moments]


def additive_predictions(part: LogPart, p: Matrix, logits: Matrix) -> ModelledLoss:
    """What the model p (m, q) says of rows, under the policy of given logits (m, q)."""
    expected = expected_additive_loss(p, logits)
    return ModelledLoss(additive_loss(p[part.context], part.action), expected[part.context])


def open_additive(log: LearnerLog) -> AdditiveView:
    """What an additive loss model is fitted to, and its figures."""
    if isinstance(log, StreamedLog):
        moments = ContextMoments(log)
        return AdditiveView(moments, StreamedFigures(log, moments))
    train, validation = log.part(validation=False), log.part(validation=True)
    return AdditiveView(GroupedRows(train), MemoryFigures(train, validation))
