"""Doubly robust risks of policies, and of what they differ by, on a log in memory or on disk.

psi_i = E_{y ~ h} q(x_i, y) + w_i (delta_i - q(x_i, y_i)),  w = min(h / h_avg, clip); its mean is the risk.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss, influence_values
from multilogger.components.estimators.ips import equal_lambdas
from multilogger.components.estimators.lambda_star import LoggerStats
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.learners.loss_models.form import FoldedModel
from multilogger.components.log.disk import Chunk, PolicyTable, StreamedLog
from multilogger.components.log.memory import SideRows


class SplitRisks(NamedTuple):
    """R_dr on both sides of the split."""

    train: float
    validation: float


class Compared(NamedTuple):
    """R_dr on the validation split, and the standard error of what it differs from the start's by."""

    risk: float
    standard_error: float


class Influence(Protocol):
    """Policies are given by their logits on all contexts (m, q)."""

    def start_from(self, model: FoldedModel, logits: Matrix) -> None:
        """Take the policy that others are compared with; from here on the model stays as it is."""

    def risks(self, model: FoldedModel, logits: Matrix) -> SplitRisks: ...

    def compare(self, model: FoldedModel, policies: Sequence[Matrix]) -> list[Compared]: ...


class MemoryInfluence:
    """From rows in memory."""

    def __init__(self, train: SideRows, validation: SideRows, clip: float) -> None:
        self.train, self.validation, self.clip = train, validation, clip
        self._start = np.zeros(len(validation.delta))

    def start_from(self, model: FoldedModel, logits: Matrix) -> None:
        self._start = self._values(self.validation, model, logits)

    def risks(self, model: FoldedModel, logits: Matrix) -> SplitRisks:
        train, validation = (self._values(part, model, logits) for part in (self.train, self.validation))
        return SplitRisks(float(train.mean()), float(validation.mean()))

    def compare(self, model: FoldedModel, policies: Sequence[Matrix]) -> list[Compared]:
        found = []
        for logits in policies:
            values = self._values(self.validation, model, logits)
            difference = values - self._start
            error = float(difference.std()) / math.sqrt(len(difference))
            found.append(Compared(float(values.mean()), error))
        return found

    def _values(self, part: SideRows, model: FoldedModel, logits: Matrix) -> Vector:
        logged = model.logged(part.context, part.action)
        modelled = ModelledLoss(logged, model.expected(logits)[part.context])
        rows = part.average_rows(part.under(logits), self.clip)
        return influence_values(rows, modelled, equal_lambdas(rows.counts))


class StreamedInfluence:
    """From one pass over the log for each question."""

    def __init__(self, log: StreamedLog, clip: float) -> None:
        self.log, self.clip = log, clip
        self._start: _Judged | None = None

    def start_from(self, model: FoldedModel, logits: Matrix) -> None:
        self._start = self._judged(model, logits)

    def risks(self, model: FoldedModel, logits: Matrix) -> SplitRisks:
        judged, sums = self._judged(model, logits), [0.0, 0.0]
        for chunk in self.log.chunks():
            logged = model.logged(chunk.context, chunk.action)
            sums[chunk.validation] += float(judged.values(chunk, logged, self.clip).sum())
        counts = [self.log.side(validation).counts.sum() for validation in (False, True)]
        return SplitRisks(*(float(total / count) for total, count in zip(sums, counts, strict=True)))

    def compare(self, model: FoldedModel, policies: Sequence[Matrix]) -> list[Compared]:
        judged = [self._judged(model, logits) for logits in policies]
        risks, differences = [0.0] * len(judged), [LoggerStats()] * len(judged)
        for chunk in self.log.chunks(validation=True):
            logged, ones = model.logged(chunk.context, chunk.action), np.ones(len(chunk.delta))
            start = 0.0 if self._start is None else self._start.values(chunk, logged, self.clip)
            for i, policy in enumerate(judged):
                values = policy.values(chunk, logged, self.clip)
                risks[i] += float(values.sum())
                differences[i] = differences[i].update(ones, values - start)
        return [
            Compared(risk / of.count, math.sqrt(of.squares) / of.count)
            for risk, of in zip(risks, differences, strict=True)
        ]

    def _judged(self, model: FoldedModel, logits: Matrix) -> "_Judged":
        return _Judged(PolicyTable.of(self.log.space, logits), model.expected(logits))


class _Judged(NamedTuple):
    """A policy, and the model's expected loss under it at every context (m,)."""

    policy: PolicyTable
    expected: Vector

    def values(self, chunk: Chunk, logged: Vector, clip: float) -> Vector:
        """psi of rows, from the model's loss at their actions (n,)."""
        weights = importance_weights(chunk.under(self.policy).log_target, chunk.log_average, clip)
        return np.asarray(self.expected[chunk.context] + weights * (chunk.delta - logged))
