"""The contexts and logged actions that a divergence estimator draws from the training rows."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import TorchSpace
from multilogger.components.errors import BadInput
from multilogger.components.learners.training.row_batches import MemoryRows, StreamedRows, TensorRows
from multilogger.components.log.disk import LearnerLog


class Logged(NamedTuple):
    """Contexts (B,) and what a logger did there (B, q), or the same of several loggers (J, B, q)."""

    contexts: Tensor
    actions: Tensor


class Draws(Protocol):
    """Every training row of a logger is as likely as any other; without a logger, every row of all."""

    def contexts(self, logger: int | None, count: int, generator: torch.Generator) -> Tensor: ...

    def logged(self, logger: int, count: int, generator: torch.Generator) -> Logged: ...


class MemoryDraws:
    """From rows in memory."""

    def __init__(self, rows: TensorRows) -> None:
        self.rows = rows

    @cached_property
    def _everyone(self) -> Tensor:
        return torch.cat(self.rows.by_logger)

    def _rows(self, logger: int | None, count: int, generator: torch.Generator) -> Tensor:
        own = self._everyone if logger is None else self.rows.by_logger[logger]
        return own[torch.randint(len(own), (count,), generator=generator)]

    def contexts(self, logger: int | None, count: int, generator: torch.Generator) -> Tensor:
        return self.rows.context[self._rows(logger, count, generator)]

    def logged(self, logger: int, count: int, generator: torch.Generator) -> Logged:
        rows = self._rows(logger, count, generator)
        return Logged(self.rows.context.index_select(0, rows), self.rows.action.index_select(0, rows))


class CountedDraws:
    """From the number of rows that each logger has at each context (J, m); no row is read.

    Choice: actions are drawn anew from the logger's policy, which must be known. They have the distribution
    of the logged ones, and cost no pass over the log.
    """

    def __init__(self, space: TorchSpace, counts: NDArray[np.int64], logger_logits: Sequence[Tensor]) -> None:
        self.space, self.logger_logits = space, logger_logits
        self._ends = [torch.from_numpy(np.cumsum(own)) for own in counts]
        self._all_ends = torch.from_numpy(np.cumsum(counts.sum(axis=0)))

    def contexts(self, logger: int | None, count: int, generator: torch.Generator) -> Tensor:
        """The contexts of uniform row numbers, rows being counted context by context."""
        ends = self._all_ends if logger is None else self._ends[logger]
        row = torch.randint(int(ends[-1]), (count,), generator=generator)
        return torch.searchsorted(ends, row, right=True)

    def logged(self, logger: int, count: int, generator: torch.Generator) -> Logged:
        contexts = self.contexts(logger, count, generator)
        return Logged(contexts, self.space.sample(self.logger_logits[logger][contexts], generator))


def float_logits(logger_logits: Sequence[Matrix]) -> tuple[Tensor, ...]:
    """The loggers' logits as the network reads and writes numbers."""
    return tuple(torch.from_numpy(table.astype(np.float32)) for table in logger_logits)


def open_draws(log: LearnerLog, rows: MemoryRows | StreamedRows) -> Draws:
    """Draws from the same rows that the mini-batches of a risk are made of."""
    if isinstance(rows, MemoryRows):
        return MemoryDraws(rows.rows)
    if not log.logger_logits:
        raise BadInput(
            f"{rows.objective.name}-reg of a log on disk draws actions from the loggers' own policies, "
            "got a log without logger_logits; give their logits on all contexts, or raise memory_rows"
        )
    return CountedDraws(log.space.torch, rows.log.train_contexts, float_logits(log.logger_logits))
