"""The mini-batches of the -exact methods: rows for the risk and contexts for the constraint, in one pass."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.training.objectives import Objective
from multilogger.components.learners.training.row_batches import StreamedRows, TensorRows
from multilogger.components.learners.training.settings import BatchSettings
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import SideRows


@dataclass(frozen=True)
class ContextBatch:
    """Some contexts (B,), the rows logged at them (k,), and where in the batch each row's context is (k,)."""

    contexts: Tensor
    rows: Tensor
    place: Tensor


@dataclass(frozen=True)
class SortedRows:
    """Rows sorted by context: those of context c are `order[start[c] : start[c] + count[c]]`.

    The columns stay in the order of the log.
    """

    rows: TensorRows
    logger: Tensor
    order: Tensor
    start: Tensor
    count: Tensor

    @classmethod
    def of(cls, part: SideRows, contexts: int) -> "SortedRows":
        count = np.bincount(part.context, minlength=contexts)
        return cls(
            rows=TensorRows.of(part),
            logger=torch.from_numpy(part.logger),
            order=torch.from_numpy(np.argsort(part.context, kind="stable")),
            start=torch.from_numpy(np.cumsum(count) - count),
            count=torch.from_numpy(count),
        )

    def steps(self, batch_size: int) -> int:
        """As many steps per epoch as learners take that draw `batch_size` rows of each logger."""
        longest = max(len(rows) for rows in self.rows.by_logger)
        return min(max(1, longest // batch_size), len(self.count))

    def batches(self, steps: int, generator: torch.Generator) -> Iterator[ContextBatch]:
        """Every context once per epoch in random order, all of its rows with it."""
        contexts = torch.randperm(len(self.count), generator=generator)
        count = self.count.index_select(0, contexts)
        end = torch.cumsum(count, dim=0)
        place = torch.repeat_interleave(count)
        first_of = self.start.index_select(0, contexts) - end + count
        rows = self.order.index_select(0, first_of.index_select(0, place) + torch.arange(len(place)))
        first, row = 0, 0
        for chosen in torch.tensor_split(contexts, steps):
            last_row = int(end[first + len(chosen) - 1])
            yield ContextBatch(chosen, rows[row:last_row], place[row:last_row] - first)
            first, row = first + len(chosen), last_row


@dataclass(frozen=True)
class ExactBatch:
    """`contexts` (K,) pass the network; those from number `first_judged` on are the constraint's.

    Each of k rows is logged at the context of number `place` (k,) among them, and stands for `scale` rows of
    the training split, a number or (k,). `action` is (k, q), the other columns are (k,).
    """

    contexts: Tensor
    place: Tensor
    action: Tensor
    log_denominator: Tensor
    delta: Tensor
    logger: Tensor
    scale: Tensor | float
    first_judged: int = 0

    @property
    def judged(self) -> Tensor:
        """The contexts that the constraint is taken over."""
        return self.contexts[self.first_judged :] if self.first_judged else self.contexts

    def judged_part(self, logits: Tensor) -> Tensor:
        """Of logits (K, q), those of the judged contexts."""
        return logits[self.first_judged :] if self.first_judged else logits


class MemoryContexts:
    """Rows in memory: every context once per epoch, with all rows logged at it."""

    def __init__(
        self, rows: SortedRows, objective: Objective, batch_size: int, generator: torch.Generator
    ) -> None:
        self.rows, self.steps, self.generator = rows, rows.steps(batch_size), generator
        self.log_denominator = rows.rows.log_denominator(objective.average)

    def epoch(self) -> Iterator[ExactBatch]:
        return self.batches(self.steps)

    def batches(self, steps: int) -> Iterator[ExactBatch]:
        """An epoch in a given number of steps."""
        columns = self.rows.rows
        for chosen in self.rows.batches(steps, self.generator):
            yield ExactBatch(
                contexts=chosen.contexts,
                place=chosen.place,
                action=columns.action.index_select(0, chosen.rows),  # several times faster than indexing
                log_denominator=self.log_denominator.index_select(0, chosen.rows),
                delta=columns.delta.index_select(0, chosen.rows),
                logger=self.rows.logger.index_select(0, chosen.rows),
                scale=len(self.rows.count) / len(chosen.contexts),
            )

    def state(self) -> State:
        return State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.generator.set_state(state.tensors["generator"])


class StreamedContexts:
    """Rows on disk: B of each logger a step, and beside them B contexts drawn evenly from all.

    Choice: rows of one context lie anywhere in the log, so they come alone. The constraint does not need
    them, and keeps its own P(x), in which a context counts once however often it was logged.
    """

    def __init__(
        self,
        log: StreamedLog,
        objective: Objective,
        settings: BatchSettings,
        seed: int,
        generator: torch.Generator,
    ) -> None:
        self.rows, self.generator = StreamedRows(log, objective, settings, seed), generator
        self.contexts, self.counts = log.contexts, torch.from_numpy(log.train.counts).float()

    def epoch(self) -> Iterator[ExactBatch]:
        for batch in self.rows.epoch():
            size, logger = batch.delta.shape[1], batch.logger
            chosen = torch.randint(self.contexts, (min(size, self.contexts),), generator=self.generator)
            yield ExactBatch(
                contexts=torch.cat([batch.context, chosen]),
                place=torch.arange(len(batch.context)),
                action=batch.action,
                log_denominator=batch.log_denominator.flatten(),
                delta=batch.delta.flatten(),
                logger=logger,
                scale=self.counts[logger] / size,
                first_judged=len(batch.context),
            )

    def state(self) -> State:
        return self.rows.state() | State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.rows.restore(state)
        self.generator.set_state(state.tensors["generator"])


def open_contexts(
    log: LearnerLog, objective: Objective, settings: BatchSettings, seed: int, generator: torch.Generator
) -> MemoryContexts | StreamedContexts:
    """Mini-batches for a risk and an exact divergence."""
    if isinstance(log, StreamedLog):
        return StreamedContexts(log, objective, settings, seed, generator)
    rows = SortedRows.of(log.part(validation=False), log.contexts)
    return MemoryContexts(rows, objective, settings.batch_size, generator)
