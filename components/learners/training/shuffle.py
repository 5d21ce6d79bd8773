"""Mini-batches from a log on disk: row groups in a seeded order, through a shuffle buffer of bounded size."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.space import ActionSpace
from multilogger.components.log.disk import Chunk, StreamedLog
from multilogger.components.log.schema import ROW_GROUP_ROWS

Records = NDArray[np.void]  # rows with the fields of `record_type`


def record_type(space: ActionSpace) -> np.dtype[np.void]:
    """A training row as the objective needs it, in as few bytes as it can be."""
    return np.dtype(
        [
            ("context", np.int32),
            ("action", space.action_type, space.action_shape),
            ("delta", np.float32),
            ("log_denominator", np.float32),
        ]
    )


class ShuffleBuffer:
    """Hands out the rows of a source once each, every time drawn evenly from at most `limit` that it holds.

    `most_held` is the largest number of rows that it has held, those of a block still to be filled in
    included; blocks of the source have at most `block_limit(limit)` rows.
    """

    def __init__(
        self, source: Iterator[Records], kind: np.dtype[np.void], limit: int, rng: np.random.Generator
    ) -> None:
        self._source, self._rng = source, rng
        self._pool = np.empty(limit - block_limit(limit), dtype=kind)
        self._size = 0
        self._waiting: Records = np.empty(0, dtype=kind)
        self.most_held = 0

    def take(self, count: int) -> Records:
        """The next `count` rows, fewer if the source ends."""
        parts: list[Records] = []
        while count:
            self._fill()
            drawn = min(count, self._size)
            if drawn == 0:
                break
            chosen = self._rng.choice(self._size, drawn, replace=False)
            parts.append(self._pool[chosen])
            self._remove(chosen)
            count -= drawn
        return np.concatenate(parts) if parts else self._pool[:0]

    def _fill(self) -> None:
        while self._size < len(self._pool):
            if not len(self._waiting):
                block = next(self._source, None)
                if block is None:
                    return
                self._waiting = block
            self.most_held = max(self.most_held, self._size + len(self._waiting))
            free = len(self._pool) - self._size
            fitting, self._waiting = self._waiting[:free], self._waiting[free:]
            self._pool[self._size : self._size + len(fitting)] = fitting
            self._size += len(fitting)

    def _remove(self, chosen: NDArray[np.int64]) -> None:
        """Close the gaps with rows from the end."""
        size = self._size - len(chosen)
        stays = np.ones(self._size - size, dtype=np.bool_)
        stays[chosen[chosen >= size] - size] = False
        self._pool[chosen[chosen < size]] = self._pool[size : self._size][stays]
        self._size = size


def block_limit(limit: int) -> int:
    """The rows that may wait outside the pool of a buffer of `limit` rows."""
    return max(1, min(ROW_GROUP_ROWS, limit // 4))


class LoggerStream:
    """The training rows of one logger without end: pass after pass, each in an order of its own.

    The order is a function of (seed, epoch, logger, pass) alone, so a run can go on from any epoch.
    """

    def __init__(
        self, log: StreamedLog, logger: int, average: bool, limit: int, seed: int, epoch: int
    ) -> None:
        self._log, self._logger, self._average = log, logger, average
        self._limit, self._seed, self._epoch = limit, seed, epoch
        self._kind = record_type(log.space)
        self._pass = 0
        self.buffer = self._new_pass()

    def take(self, count: int) -> Records:
        """Exactly `count` rows; a log that is shorter begins anew."""
        parts = [self.buffer.take(count)]
        while (missing := count - sum(len(part) for part in parts)) > 0:
            self._pass += 1
            self.buffer = self._new_pass()
            parts.append(self.buffer.take(missing))
        return np.concatenate(parts)

    def _new_pass(self) -> ShuffleBuffer:
        rng = np.random.default_rng([self._seed, self._epoch, self._logger, self._pass])
        order = rng.permutation(len(self._log.groups[self._logger])).tolist()
        chunks = self._log.train_chunks(self._logger, order, block_limit(self._limit))
        # A source that knew this stream would keep buffers alive long after they are done with.
        return ShuffleBuffer(_records(chunks, self._kind, self._average), self._kind, self._limit, rng)


def _records(chunks: Iterator[Chunk], kind: np.dtype[np.void], average: bool) -> Iterator[Records]:
    for chunk in chunks:
        rows = np.empty(len(chunk.delta), dtype=kind)
        rows["context"], rows["action"], rows["delta"] = chunk.context, chunk.action, chunk.delta
        rows["log_denominator"] = chunk.log_average if average else chunk.log_propensity
        yield rows


def buffer_limit(memory_rows: int, loggers: int, batch_size: int) -> int:
    """The rows that one logger's buffer may hold.

    All buffers together hold at most `memory_rows`, or two mini-batches if that is more.
    """
    return max(memory_rows // loggers, 2 * batch_size)


def batch_sizes(longest: int, batch_size: int) -> Iterator[int]:
    """B of each step of an epoch that passes once through the longest log.

    Choice: what B rows per step would leave over is spread over the steps, so that no row is left out.
    """
    steps = max(1, longest // batch_size)
    for step in range(steps):
        yield longest // steps + (step < longest % steps)


def streamed_batches(
    log: StreamedLog, average: bool, batch_size: int, memory_rows: int, seed: int, epoch: int
) -> Iterator[Records]:
    """The mini-batches of one epoch, B rows from each logger (Algorithm 1, step 2): (J, B) a step.

    As in memory, an epoch passes once through the longest log and the shorter ones begin anew. `average` says
    which denominator a row carries: h_avg, else h_j.
    """
    limit = buffer_limit(memory_rows, log.loggers, batch_size)
    streams = [LoggerStream(log, j, average, limit, seed, epoch) for j in range(log.loggers)]
    for size in batch_sizes(int(log.train.counts.max()), batch_size):
        yield np.stack([stream.take(size) for stream in streams])
