"""The training rows as tensors: in the order of the log, or in padded groups of one context each."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.log.memory import LogPart


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
    def of(cls, part: LogPart) -> "TensorRows":
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


MOST_ROWS = 16  # of one group; a context with more of them makes several groups


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
