"""Where mini-batches of rows come from: a log in memory, or one on disk. Learners need not know which.

The training rows in memory are tensors: in the order of the log, or in padded groups of one context each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.training.objectives import Objective
from multilogger.components.learners.training.settings import BatchSettings
from multilogger.components.learners.training.shuffle import Records, streamed_batches
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import SideRows

MOST_ROWS = 16  # of one group; a context with more of them makes several groups


@dataclass(frozen=True)
class TensorRows:
    """The training rows as tensors, numbers in float32, for the objective."""

    context: Tensor
    action: Tensor
    delta: Tensor
    log_propensity: Tensor
    log_average: Tensor
    by_logger: tuple[Tensor, ...]

    @classmethod
    def of(cls, part: SideRows) -> "TensorRows":
        def number(column: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(column.astype(np.float32))

        return cls(
            context=torch.from_numpy(part.context),
            action=part.space.torch.actions(part.action),
            delta=number(part.delta),
            log_propensity=number(part.log_propensity),
            log_average=number(part.log_average),
            by_logger=tuple(torch.from_numpy(rows) for rows in part.by_logger),
        )

    def log_denominator(self, average: bool) -> Tensor:
        """Of weights h/h_avg or h/h_j: (n,)."""
        return self.log_average if average else self.log_propensity

    def batches(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """Row numbers of one epoch, B from each logger a step (Algorithm 1, step 2): (steps, J, B).

        Choice: an epoch passes once through the longest log; a shorter one is shuffled anew as often as it
        takes, so that each of its rows is as likely as any other in every step.
        """
        longest = max(len(rows) for rows in self.by_logger)
        size = min(batch_size, longest)
        steps = max(1, longest // size)
        columns = [_shuffled(rows, steps * size, generator).view(steps, size) for rows in self.by_logger]
        return torch.stack(columns, dim=1)


def _shuffled(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` of the rows: whole permutations one after the other, the last one cut."""
    times = -(-count // len(rows))
    orders = [rows[torch.randperm(len(rows), generator=generator)] for _ in range(times)]
    return torch.cat(orders)[:count]


@dataclass(frozen=True)
class PaddedGroups:
    """Groups of rows of one context each, padded to the largest: g groups of up to k rows.

    `context` (g,) is the context of each group, `row` (g, k) the numbers of its rows, `present` (g, k) is 1
    for a row and 0 for padding, where `row` is 0.
    """

    context: Tensor
    row: Tensor
    present: Tensor

    @classmethod
    def of(cls, context: NDArray[np.int64]) -> "PaddedGroups":
        """Gather rows (n,) by their context; rows keep their order within it."""
        order = np.argsort(context, kind="stable")
        ordered = context[order]
        first = np.searchsorted(ordered, ordered)
        place = np.arange(len(ordered)) - first
        starts = np.flatnonzero(place % MOST_ROWS == 0)
        group = np.cumsum(place % MOST_ROWS == 0) - 1
        column = place % MOST_ROWS
        row = np.zeros((len(starts), int(column.max()) + 1), dtype=np.int64)
        present = np.zeros(row.shape, dtype=np.float32)
        row[group, column] = order
        present[group, column] = 1.0
        return cls(torch.from_numpy(ordered[starts]), torch.from_numpy(row), torch.from_numpy(present))

    def gather(self, column: Tensor) -> Tensor:
        """A column (n, ...) of the log as (g, k, ...), 0 where there is no row."""
        table = column[self.row]
        shape = self.present.shape + (1,) * (table.dim() - 2)
        return table * self.present.view(shape).to(table.dtype)


@dataclass(frozen=True)
class RowBatch:
    """B training rows of each logger (Algorithm 1, step 2).

    `context` (JB,) and `action` (JB, ...) go one logger after the other; `log_denominator`, of h_j or h_avg
    as the objective has it, and `delta` are (J, B).
    """

    context: Tensor
    action: Tensor
    log_denominator: Tensor
    delta: Tensor

    @property
    def logger(self) -> Tensor:
        """The logger of each row: (JB,)."""
        loggers, size = self.delta.shape
        return torch.arange(loggers).repeat_interleave(size)


class MemoryRows:
    """Rows in memory, in an order that a generator draws."""

    def __init__(
        self, rows: TensorRows, objective: Objective, batch_size: int, generator: torch.Generator
    ) -> None:
        self.rows, self.log_denominator = rows, rows.log_denominator(objective.average)
        self.batch_size, self.generator = batch_size, generator

    def epoch(self) -> Iterator[RowBatch]:
        for chosen in self.rows.batches(self.batch_size, self.generator):
            flat = chosen.flatten()
            yield RowBatch(
                context=self.rows.context.index_select(0, flat),  # several times faster than indexing
                action=self.rows.action.index_select(0, flat),
                log_denominator=self.log_denominator.index_select(0, flat).view(chosen.shape),
                delta=self.rows.delta.index_select(0, flat).view(chosen.shape),
            )

    def state(self) -> State:
        return State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.generator.set_state(state.tensors["generator"])


class StreamedRows:
    """Rows on disk, through shuffle buffers; their order is a function of the seed and the epoch."""

    def __init__(self, log: StreamedLog, objective: Objective, settings: BatchSettings, seed: int) -> None:
        self.log, self.objective, self.settings, self.seed = log, objective, settings, seed
        self.epochs_read = 0

    def epoch(self) -> Iterator[RowBatch]:
        for records in streamed_batches(
            self.log,
            self.objective.average,
            self.settings.batch_size,
            self.settings.memory_rows,
            self.seed,
            self.epochs_read,
        ):
            yield to_batch(records, self.log.space.torch)
        self.epochs_read += 1

    def state(self) -> State:
        return State({}, {"epochs_read": self.epochs_read})

    def restore(self, state: State) -> None:
        self.epochs_read = int(state.numbers["epochs_read"])


def open_rows(
    log: LearnerLog, objective: Objective, settings: BatchSettings, seed: int, generator: torch.Generator
) -> MemoryRows | StreamedRows:
    """Mini-batches for a risk; their order follows from the generator, on disk from the seed."""
    if isinstance(log, StreamedLog):
        return StreamedRows(log, objective, settings, seed)
    rows = TensorRows.of(log.part(validation=False))
    return MemoryRows(rows, objective, settings.batch_size, generator)


def to_batch(records: Records, space: TorchSpace) -> RowBatch:
    """Records (J, B) as tensors."""
    return RowBatch(
        context=torch.from_numpy(records["context"].astype(np.int64).ravel()),
        action=space.actions(records["action"]).flatten(0, 1),
        log_denominator=torch.from_numpy(records["log_denominator"].copy()),
        delta=torch.from_numpy(records["delta"].copy()),
    )
