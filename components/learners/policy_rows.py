"""The objective of doubly robust learning: on rows in memory gathered by context, or on rows from disk."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.importance import importance_weights
from multilogger.components.lambda_star import LoggerStats, Stats, update_stats
from multilogger.components.learners.folded_model import FoldedModel
from multilogger.components.learners.padded_groups import PaddedGroups
from multilogger.components.learners.row_batches import RowSource
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import PolicyTable, StreamedLog
from multilogger.components.learners.training_log import LogPart
from multilogger.components.policies import Matrix
from multilogger.components.torch_policies import expected_label_sum, log_probability_grouped


@dataclass(frozen=True)
class PolicyBatch:
    """Groups of up to k rows at one context each, for a step of the policy blind to fold `member`.

    `context` (g,) and the model's `p` there (g, q); `action` (g, k, q); `log_denominator`, `logger` and
    `residual` delta - q(x, y) are (g, k); `weight` (g, k) is what a row counts for, 0 where there is none.
    """

    member: int
    context: Tensor
    p: Tensor
    action: Tensor
    log_denominator: Tensor
    logger: Tensor
    residual: Tensor
    weight: Tensor

    def risk(self, logits: Tensor, effects: Tensor | None, factors: Tensor, clip: float) -> Tensor:
        """R_dr; `factors` (J,): n lambda_j, `effects` (g, q): of a free-form correction."""
        slopes = 1.0 - 2.0 * self.p if effects is None else 1.0 - 2.0 * self.p + effects
        modelled = expected_label_sum(logits, self.p, slopes)
        log_target = log_probability_grouped(logits, self.action)
        weights = torch.exp((log_target - self.log_denominator).clamp_max(math.log(clip)))
        corrected = factors[self.logger] * weights * self.residual * self.weight
        total = (modelled * self.weight.sum(dim=1)).sum() + corrected.sum()
        return total / self.weight.sum()


class PolicyRows(Protocol):
    """Training rows, in steps of the members one by one."""

    def set_model(self, model: FoldedModel) -> None:
        """Take the model, which does not change any more."""

    def epoch(self, fold: Tensor, members: int) -> Iterator[PolicyBatch]:
        """Every member once through the rows of the contexts that it may see, those of another fold."""

    def residual_stats(self, logits: Matrix) -> Stats:
        """Statistics of the weighted residuals, which are what is left to estimate, one a logger."""


class MemoryPolicyRows:
    """Rows in memory, in groups of one context."""

    def __init__(self, part: LogPart, settings: LearnerSettings, generator: torch.Generator) -> None:
        self.part, self.settings, self.generator = part, settings, generator
        self.groups = PaddedGroups.of(part.context)
        denominator = part.log_propensity if settings.dr_weighted else part.log_average
        self.action = self.groups.gather(torch.from_numpy(part.action.astype(np.float32)))
        self.log_denominator = self.groups.gather(torch.from_numpy(denominator.astype(np.float32)))
        self.logger = self.groups.gather(torch.from_numpy(part.logger))
        self.residual = torch.zeros(len(part.delta))
        self.grouped = self.groups.gather(self.residual)
        self.p = torch.zeros(0)

    def set_model(self, model: FoldedModel) -> None:
        self.p = torch.from_numpy(model.p.astype(np.float32))
        residual = self.part.delta - model.logged(self.part.context, self.part.action)
        self.residual = torch.from_numpy(residual.astype(np.float32))
        self.grouped = self.groups.gather(self.residual)

    def epoch(self, fold: Tensor, members: int) -> Iterator[PolicyBatch]:
        for k in range(members):
            seen = torch.flatten(torch.nonzero(fold[self.groups.context] != k))
            order = seen[torch.randperm(len(seen), generator=self.generator)]
            for groups in torch.split(order, self.settings.context_batch):
                yield self.batch(k, groups)

    def batch(self, member: int, groups: Tensor) -> PolicyBatch:
        context = self.groups.context[groups]
        return PolicyBatch(
            member=member,
            context=context,
            p=self.p[context],
            action=self.action[groups],
            log_denominator=self.log_denominator[groups],
            logger=self.logger[groups],
            residual=self.grouped[groups],
            weight=self.groups.present[groups],
        )

    def residual_stats(self, logits: Matrix) -> Stats:
        batch = self.part.under(logits)
        weights = importance_weights(batch.log_target, batch.log_propensity, self.settings.clip)
        none = (LoggerStats(),) * batch.loggers
        return update_stats(none, self.part.logger, weights, self.residual.double().numpy())


class StreamedPolicyRows:
    """Rows on disk, each a group of its own; one pass serves all members."""

    def __init__(self, log: StreamedLog, rows: RowSource, settings: LearnerSettings) -> None:
        self.log, self.rows, self.settings = log, rows, settings
        self.counts = torch.from_numpy(log.train.counts).float()
        self.model: FoldedModel | None = None

    def set_model(self, model: FoldedModel) -> None:
        self.model = model

    def epoch(self, fold: Tensor, members: int) -> Iterator[PolicyBatch]:
        model = self._model()
        for batch in self.rows.epoch():
            logger = batch.logger
            logged = model.logged(batch.context.numpy(), batch.action.numpy())
            residual = batch.delta.flatten() - torch.from_numpy(logged).float()
            p = torch.from_numpy(model.p[batch.context.numpy()]).float()
            for k in range(members):
                seen = fold[batch.context] != k
                yield PolicyBatch(
                    member=k,
                    context=batch.context[seen],
                    p=p[seen],
                    action=batch.action[seen].unsqueeze(1),
                    log_denominator=batch.log_denominator.flatten()[seen].unsqueeze(1),
                    logger=logger[seen].unsqueeze(1),
                    residual=residual[seen].unsqueeze(1),
                    weight=self.counts[logger[seen]].unsqueeze(1),
                )

    def residual_stats(self, logits: Matrix) -> Stats:
        policy, model = PolicyTable.of(logits), self._model()
        stats = [LoggerStats()] * self.log.loggers
        for chunk in self.log.chunks(validation=False):
            batch = chunk.under(policy)
            weights = importance_weights(batch.log_target, batch.log_propensity, self.settings.clip)
            residual = chunk.delta - model.logged(chunk.context, chunk.action)
            stats[chunk.logger] = stats[chunk.logger].update(weights, residual)
        return stats

    def _model(self) -> FoldedModel:
        if self.model is None:
            raise RuntimeError("set_model comes first")
        return self.model
