"""The training rows by context, for learners that pass each context through the network once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.tensor_rows import TensorRows
from multilogger.components.learners.training_log import LogPart


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
    def of(cls, part: LogPart, contexts: int) -> "SortedRows":
        count = np.bincount(part.context, minlength=contexts)
        return cls(
            rows=TensorRows.of(part),
            logger=torch.from_numpy(part.logger),
            order=torch.from_numpy(np.argsort(part.context, kind="stable")),
            start=torch.from_numpy(np.cumsum(count) - count),
            count=torch.from_numpy(count),
        )

    def steps(self, batch_size: int) -> int:
        """As many steps an epoch as learners take that draw `batch_size` rows of each logger."""
        longest = max(len(rows) for rows in self.rows.by_logger)
        return min(max(1, longest // batch_size), len(self.count))

    def batches(self, steps: int, generator: torch.Generator) -> Iterator[ContextBatch]:
        """Every context once an epoch in random order, all of its rows with it."""
        contexts = torch.randperm(len(self.count), generator=generator)
        count = self.count[contexts]
        end = torch.cumsum(count, dim=0)
        place = torch.repeat_interleave(count)
        rows = self.order[(self.start[contexts] - end + count)[place] + torch.arange(len(place))]
        first, row = 0, 0
        for chosen in torch.tensor_split(contexts, steps):
            last_row = int(end[first + len(chosen) - 1])
            yield ContextBatch(chosen, rows[row:last_row], place[row:last_row] - first)
            first, row = first + len(chosen), last_row
