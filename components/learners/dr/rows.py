"""A log as doubly robust learning needs it, in memory or on disk: rows of its objective, and their risks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.dr.influence import Influence, MemoryInfluence, StreamedInfluence
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.loss_models.form import FoldedModel, LossForm
from multilogger.components.learners.training.objectives import BALANCED
from multilogger.components.learners.training.row_batches import PaddedGroups, StreamedRows
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import SideRows


@dataclass(frozen=True)
class PolicyBatch:
    """Groups of up to k rows at one context each, for a step of the policy blind to fold `member`.

    `context` (g,) and the model's `p` there (g, q); `action` (g, k, q); `log_denominator` and `residual`
    delta - q(x, y) are (g, k); `weight` (g, k) is what a row counts for, 0 where there is none.
    """

    member: int
    context: Tensor
    p: Tensor
    action: Tensor
    log_denominator: Tensor
    residual: Tensor
    weight: Tensor

    def risk(self, logits: Tensor, form: LossForm, space: TorchSpace, clip: float) -> Tensor:
        """R_dr of the policy of given logits (g, size)."""
        modelled = form.expected_at(self.p, logits)
        log_target = space.log_probability_grouped(logits, self.action)
        weights = torch.exp((log_target - self.log_denominator).clamp_max(math.log(clip)))
        corrected = weights * self.residual * self.weight
        total = (modelled * self.weight.sum(dim=1)).sum() + corrected.sum()
        return total / self.weight.sum()


class PolicyRows(Protocol):
    """Training rows, in steps of the members one by one."""

    def set_model(self, model: FoldedModel) -> None:
        """Take the model, which does not change any more."""

    def epoch(self, fold: Tensor, members: int) -> Iterator[PolicyBatch]:
        """Every member once through the rows of the contexts that it may see, those of another fold."""


class MemoryPolicyRows:
    """Rows in memory, in groups of one context."""

    def __init__(self, part: SideRows, context_batch: int, generator: torch.Generator) -> None:
        self.part, self.context_batch, self.generator = part, context_batch, generator
        self.groups = PaddedGroups.of(part.context)
        self.action = self.groups.gather(part.space.torch.actions(part.action))
        self.log_denominator = self.groups.gather(torch.from_numpy(part.log_average.astype(np.float32)))
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
            for groups in torch.split(order, self.context_batch):
                yield self.batch(k, groups)

    def batch(self, member: int, groups: Tensor) -> PolicyBatch:
        context = self.groups.context[groups]
        return PolicyBatch(
            member=member,
            context=context,
            p=self.p[context],
            action=self.action[groups],
            log_denominator=self.log_denominator[groups],
            residual=self.grouped[groups],
            weight=self.groups.present[groups],
        )


class StreamedPolicyRows:
    """Rows on disk, each a group of its own; one pass serves all members."""

    def __init__(self, log: StreamedLog, rows: StreamedRows) -> None:
        self.rows, self.kind = rows, log.space.action_type
        self.counts = torch.from_numpy(log.train.counts).float()
        self.model: FoldedModel | None = None

    def set_model(self, model: FoldedModel) -> None:
        self.model = model

    def epoch(self, fold: Tensor, members: int) -> Iterator[PolicyBatch]:
        model = self._model()
        for batch in self.rows.epoch():
            logger = batch.logger
            logged = model.logged(batch.context.numpy(), batch.action.numpy().astype(self.kind))
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
                    residual=residual[seen].unsqueeze(1),
                    weight=self.counts[logger[seen]].unsqueeze(1),
                )

    def _model(self) -> FoldedModel:
        if self.model is None:
            raise RuntimeError("set_model comes first")
        return self.model


@dataclass(frozen=True)
class DoublyRobustView:
    """Rows for the policy, and what is measured of it and the loss model."""

    policy: PolicyRows
    influence: Influence
    generator: torch.Generator
    streamed: StreamedRows | None = None

    def state(self) -> State:
        """What the order of the next rows follows from."""
        state = State({"generator": self.generator.get_state()})
        return state if self.streamed is None else state | self.streamed.state()

    def restore(self, state: State) -> None:
        self.generator.set_state(state.tensors["generator"])
        if self.streamed is not None:
            self.streamed.restore(state)


def open_doubly_robust(
    log: LearnerLog, settings: DrSettings, seed: int, generator: torch.Generator
) -> DoublyRobustView:
    """What doubly robust learning needs beside its additive model."""
    if isinstance(log, StreamedLog):
        rows = StreamedRows(log, BALANCED, settings, seed)
        return DoublyRobustView(
            policy=StreamedPolicyRows(log, rows),
            influence=StreamedInfluence(log, settings.clip),
            generator=generator,
            streamed=rows,
        )
    train, validation = log.part(validation=False), log.part(validation=True)
    return DoublyRobustView(
        policy=MemoryPolicyRows(train, settings.batch_of(log.contexts), generator),
        influence=MemoryInfluence(train, validation, settings.clip),
        generator=generator,
    )
