"""Logged rows in padded groups of one context each: a network sees a context once for many of its rows."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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
