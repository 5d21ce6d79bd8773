"""Where mini-batches of rows come from: a log in memory, or one on disk. Learners need not know which."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.training.objectives import Objective
from multilogger.components.learners.training.settings import BatchSettings
from multilogger.components.learners.training.shuffle import Records, streamed_batches
from multilogger.components.learners.training.state import State
from multilogger.components.learners.training.tensor_rows import TensorRows
from multilogger.components.log.disk import LearnerLog, StreamedLog


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
        self.rows, self.log_denominator = rows, objective.log_denominator(rows)
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
