"""What a loss model and its policies are worth on a log in memory, or on one on disk."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.estimators.doubly_robust import ModelledLoss, balanced_doubly_robust
from multilogger.components.estimators.ips import equal_estimate
from multilogger.components.estimators.moments import LoggerMoments
from multilogger.components.estimators.weights import WeightRule, importance_weights
from multilogger.components.learners.loss_models.form import FoldedModel, LossForm
from multilogger.components.learners.training.record import Risk
from multilogger.components.log.disk import PolicyTable, StreamedLog
from multilogger.components.log.memory import SideRows


class ModelFigures(NamedTuple):
    """Of a model and a policy: the mean score of all rows, which the form says and which is least for the
    right model; the model's own estimate of the policy's risk on the contexts of training rows, and its
    doubly robust correction on validation rows.
    """

    score: float
    modelled_risk: float
    corrected_risk: float


class LossFigures(Protocol):
    """Figures of models p (m, size) and of policies by their logits (m, size)."""

    def score(self, p: Matrix) -> float: ...

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures: ...

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        """The self-normalised balanced risk of each policy on validation rows."""


class TrainingSums(Protocol):
    """What is left of the training rows of a log on disk."""

    def total_score(self, p: Matrix) -> float:
        """The sum of their scores."""


class MemoryFigures:
    """From rows in memory."""

    def __init__(self, form: LossForm, train: SideRows, validation: SideRows) -> None:
        self.form, self.train, self.validation = form, train, validation

    def score(self, p: Matrix) -> float:
        parts = (self.train, self.validation)
        scores = [self.form.scores(p, part.context, part.action, part.delta) for part in parts]
        return float(np.concatenate(scores).mean())

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures:
        model = FoldedModel(self.form, p)
        modelled = predictions(self.validation, model, logits)
        corrected = balanced_doubly_robust(self.validation.under(logits), modelled, WeightRule(clip))
        return ModelFigures(
            score=self.score(p),
            modelled_risk=float(predictions(self.train, model, logits).q_target.mean()),
            corrected_risk=corrected.value,
        )

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        rows = [self.validation.average_rows(self.validation.under(logits)) for logits in policies]
        return [Risk.of(equal_estimate(one, self_normalised=True)) for one in rows]


class StreamedFigures:
    """From sums over training rows, and one pass over the validation rows for each question."""

    def __init__(self, form: LossForm, log: StreamedLog, train: TrainingSums) -> None:
        self.form, self.log, self.train = form, log, train

    def score(self, p: Matrix) -> float:
        total = self.train.total_score(p)
        for chunk in self.log.chunks(validation=True):
            total += float(self.form.scores(p, chunk.context, chunk.action, chunk.delta).sum())
        return total / self.log.rows

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures:
        """All three in one pass."""
        policy, expected = PolicyTable.of(self.log.space, logits), self.form.expected(p, logits)
        total, corrected = self.train.total_score(p), 0.0
        for chunk in self.log.chunks(validation=True):
            residual = chunk.delta - self.form.logged(p, chunk.context, chunk.action)
            weights = importance_weights(chunk.under(policy).log_target, chunk.log_average, clip)
            total += float(self.form.scores(p, chunk.context, chunk.action, chunk.delta).sum())
            corrected += float(expected[chunk.context].sum() + weights @ residual)
        counts = self.log.train_contexts.sum(axis=0)
        return ModelFigures(
            score=total / self.log.rows,
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


def predictions(part: SideRows, model: FoldedModel, logits: Matrix) -> ModelledLoss:
    """What a model says of rows, under the policy of given logits (m, size)."""
    return ModelledLoss(model.logged(part.context, part.action), model.expected(logits)[part.context])
