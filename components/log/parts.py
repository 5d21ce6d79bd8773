"""A log on disk in parts of about equal size, and whoever works on them: this process, or several.

What comes of the parts is handed over in their order, whoever was ready first, and the parts do not depend
on how many work on them. So sums that are added up in that order have the same bits with one worker and with
many. A `Mapper` is all that is asked of those who work: `concurrent.futures` here, `Client.map` of Dask and
its like elsewhere.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

import numpy as np

from multilogger.components.errors import BadInput, first_line
from multilogger.components.log.files import ColumnBatch, LogFiles
from multilogger.components.log.unreadable import READ_ERRORS, readable

PART_ROWS = 2**19
PART_BATCH = 2**16
AHEAD = 2  # parts that wait for a worker, so that none is idle

Item = TypeVar("Item")
Found = TypeVar("Found")


class Mapper(Protocol):
    """Calls a function on each of some things, and hands over what comes of it in their order."""

    def __call__(self, work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]: ...


@dataclass(frozen=True)
class Piece:
    """Some row groups of one file, and the number of their first row in it."""

    fragment: Any
    first: int
    rows: int


@dataclass(frozen=True)
class LogPart:
    """About `PART_ROWS` rows of a log, the `first` of which has that number among all."""

    number: int
    first: int
    rows: int
    pieces: tuple[Piece, ...]

    def batches(
        self, files: LogFiles, names: list[str], batch_rows: int = PART_BATCH
    ) -> Iterator[ColumnBatch]:
        """The rows, batch by batch; only the named columns are read."""
        for piece in self.pieces:
            yield from files.piece_batches(piece.fragment, piece.first, names, batch_rows)

    def wholes(self, files: LogFiles, names: list[str]) -> Iterator[ColumnBatch]:
        """The rows, those of a file at once: for columns that take little memory."""
        for piece in self.pieces:
            with readable(where := files.name_of(piece.fragment)):
                schema = files.dataset.schema
                table = piece.fragment.to_table(schema=schema, columns=names, use_threads=False)
            for batch in table.combine_chunks().to_batches():
                yield from files.kept(where, piece.first, batch)


def log_parts(files: LogFiles, most: int = PART_ROWS) -> tuple[LogPart, ...]:
    """A log cut between row groups, the same way whoever asks; small files stand together in one part."""
    parts: list[LogPart] = []
    pieces: list[Piece] = []
    rows = done = 0

    def close() -> None:
        nonlocal pieces, rows, done
        if pieces:
            parts.append(LogPart(len(parts), done, rows, tuple(pieces)))
        done, rows, pieces = done + rows, 0, []

    for piece in _pieces(files, most):
        if rows and rows + piece.rows > most:
            close()
        pieces.append(piece)
        rows += piece.rows
    close()
    return tuple(parts)


def _pieces(files: LogFiles, most: int) -> Iterator[Piece]:
    """Neighbouring row groups of one file, as many as a part may have."""
    for fragment in files.dataset.get_fragments():
        try:
            sizes = [int(group.num_rows) for group in fragment.row_groups]
        except READ_ERRORS as error:
            reason = first_line(error)
            raise BadInput(f"{fragment.path} cannot be read as Parquet ({reason})") from error
        starts = np.r_[0, np.cumsum(sizes)]
        group = 0
        while group < len(sizes):
            last = group + 1
            while last < len(sizes) and starts[last + 1] - starts[group] <= most:
                last += 1
            chosen = fragment.subset(row_group_ids=list(range(group, last)))
            yield Piece(chosen, int(starts[group]), int(starts[last] - starts[group]))
            group = last


def here(work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
    """One after the other, in this process."""
    return map(work, items)


@contextmanager
def mapper(workers: int) -> Iterator[Mapper]:
    """This process, or so many others for as long as they are needed."""
    if workers <= 1:
        yield here
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_one_thread) as pool:

        def spread(work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
            waiting: deque[Future[Found]] = deque()
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

        yield spread


@dataclass(frozen=True)
class Spread:
    """Who works: opened for a number of workers. Those of other machines do not share a folder with us."""

    open: Callable[[int], AbstractContextManager[Mapper]]
    shares_disk: bool = True


PROCESSES = Spread(mapper)


def _one_thread() -> None:
    """Workers are as many as cores; threads of theirs would only fight."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # before torch is there, if it ever is
