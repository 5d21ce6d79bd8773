"""The training rows in memory as tensors, and the order in which mini-batches take them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.learners.training_log import LogPart


@dataclass(frozen=True)
class TensorRows:
    """The training rows as float32 tensors, for the objective."""

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
            action=number(part.action),
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
