"""The mini-batches that free-form corrections are fitted to, from rows in memory or on disk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.row_batches import RowSource
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.training_log import LogPart

LEAST_VARIANCE = 1e-6

Predict = Callable[[int, Tensor, Tensor], Tensor]  # member, contexts (n,), actions (n, q): losses (n,)


@dataclass(frozen=True)
class FreeFormBatch:
    """Rows for a step of the correction of fold `member`.

    `residual` (n,) is what the additive member of that fold leaves of their losses, `weight` (n,) what each
    row counts for.
    """

    member: int
    context: Tensor
    action: Tensor
    residual: Tensor
    weight: Tensor


class FreeFormRows(Protocol):
    """Every member once through the rows of contexts that it may see, weighted by their logger's precision.

    `fold` (m,) is that of a context; `additive` and `correction` are the two parts of each member's model.
    """

    def epoch(
        self, fold: Tensor, members: int, additive: Predict, correction: Predict
    ) -> Iterator[FreeFormBatch]: ...


class MemoryFreeFormRows:
    """Rows in memory."""

    def __init__(self, part: LogPart, settings: LearnerSettings, generator: torch.Generator) -> None:
        self.settings, self.generator = settings, generator
        self.context = torch.from_numpy(part.context)
        self.action = torch.from_numpy(part.action.astype(np.float32))
        self.delta = torch.from_numpy(part.delta.astype(np.float32))
        self.logger = torch.from_numpy(part.logger)

    def epoch(
        self, fold: Tensor, members: int, additive: Predict, correction: Predict
    ) -> Iterator[FreeFormBatch]:
        for k in range(members):
            residual = self.delta - additive(k, self.context, self.action)
            seen = torch.flatten(torch.nonzero(fold[self.context] != k))
            left = (residual - correction(k, self.context, self.action))[seen].square()
            count = torch.bincount(self.logger[seen]).float()
            weights = inverse_means(torch.bincount(self.logger[seen], left) / count)
            order = seen[torch.randperm(len(seen), generator=self.generator)]
            for rows in torch.split(order, self.settings.batch_size):
                weight = weights[self.logger[rows]]
                yield FreeFormBatch(k, self.context[rows], self.action[rows], residual[rows], weight)


class StreamedFreeFormRows:
    """Rows on disk: one pass for the precisions of the loggers, one for the steps of all members."""

    def __init__(self, log: StreamedLog, rows: RowSource) -> None:
        self.log, self.rows = log, rows

    def epoch(
        self, fold: Tensor, members: int, additive: Predict, correction: Predict
    ) -> Iterator[FreeFormBatch]:
        # An epoch of mini-batches has as many rows of each logger; together they stand for the log.
        stands_for = torch.from_numpy(self.log.train.counts / self.log.train.counts.mean()).float()
        weights = self._precisions(fold, members, additive, correction) * stands_for
        for batch in self.rows.epoch():
            logger = batch.logger
            for k in range(members):
                seen = fold[batch.context] != k
                context, action = batch.context[seen], batch.action[seen]
                residual = batch.delta.flatten()[seen] - additive(k, context, action)
                yield FreeFormBatch(k, context, action, residual, weights[k, logger[seen]])

    def _precisions(self, fold: Tensor, members: int, additive: Predict, correction: Predict) -> Tensor:
        """Of each member and logger: (K, J)."""
        squares, count = (torch.zeros(members, self.log.loggers, dtype=torch.float64) for _ in range(2))
        for chunk in self.log.chunks(validation=False):
            context, delta = torch.from_numpy(chunk.context), torch.from_numpy(chunk.delta).float()
            action = torch.from_numpy(chunk.action).float()
            for k in range(members):
                seen = fold[context] != k
                own = context[seen], action[seen]
                left = delta[seen] - additive(k, *own) - correction(k, *own)
                squares[k, chunk.logger] += left.double().square().sum()
                count[k, chunk.logger] += len(left)
        return torch.stack([inverse_means(means) for means in (squares / count).float()])


def inverse_means(means: Tensor) -> Tensor:
    """1 / mean squared residual of each logger, scaled to a mean of 1: (J,)."""
    inverse = 1.0 / means.clamp_min(LEAST_VARIANCE)
    return inverse / inverse.mean()
