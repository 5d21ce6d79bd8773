"""The sums of a log from lots of scored rows, each with all rows of its contexts."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TypeVar

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.components.estimators.pessimism import SmoothedSides
from multilogger.components.estimators.smoothing import Whole
from multilogger.components.evaluation.evaluation import smooth
from multilogger.components.evaluation.guards import fewest_contexts
from multilogger.components.evaluation.log_sums import MOST_BLOCKS, Bounds, LogSums, added, sum_up
from multilogger.components.evaluation.skim_log import Advance
from multilogger.components.log.parts import LogPart, Mapper, here
from multilogger.components.long_log.records import LogFrame, RecordFile, Records, read_lot, write_records
from multilogger.components.long_log.scoring import Scorer

T = TypeVar("T")
Smoothed = tuple[SmoothedSides, ...]


@dataclass(frozen=True)
class LotSummer:
    """Whoever sums up the lots of a log.

    `seed` draws its blocks; a lot has about `most` rows; `stack` keeps the temporary folder. Workers that do
    not share our disk score rows and hand them over; lots are then summed up here.
    """

    frame: LogFrame
    bounds: Bounds
    seed: int
    most: int
    stack: ExitStack
    work: Mapper
    advance: Advance
    shares_disk: bool = True

    def summed(
        self, scorer: Scorer, parts: Sequence[LogPart], contexts_known: bool
    ) -> tuple[LogSums, Smoothed, int, int | None]:
        """The sums, those of smoothed weights, how many contexts there are, and how few if too few."""
        rows = int(self.frame.counts.sum())
        if not contexts_known:
            work = partial(_sum_part, scorer, self.bounds, self.seed, Whole(rows, rows, 1))
            found = [one for one in self._told(self.work(work, parts), parts, 2) if one[0].rows]
            sums = added([one for one, _ in found])
            return sums, _joined([soft for _, soft in found]), int(sums.contexts[-1]), None
        lots = range(-(-rows // self.most))
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="multilogger-")))
        _check_room(folder, self.frame)
        files = tuple(self._told(self._spilled(scorer, folder, len(lots), parts), parts, 1))
        sums = self._of_lots(files, lots, contexts_known=True)
        contexts, few = int(sums.contexts[-1]), fewest_contexts(sums.contexts, self.frame.counts)
        if few is not None:
            sums = self._of_lots(files, lots, contexts_known=False)
        soft = list(self._near(partial(_smooth_lot, self.frame, sums.whole, files, few is None), lots))
        self.advance(rows)
        return sums, _joined([one for one in soft if one is not None]), contexts, few

    def _of_lots(self, files: Sequence[RecordFile], lots: Sequence[int], contexts_known: bool) -> LogSums:
        work = partial(_sum_lot, self.frame, self.bounds, self.seed, files, contexts_known)
        return added([part for part in self._near(work, lots) if part.rows])

    @property
    def _near(self) -> Mapper:
        """Whoever can read what was written to the temporary folder."""
        return self.work if self.shares_disk else here

    def _spilled(
        self, scorer: Scorer, folder: Path, lots: int, parts: Sequence[LogPart]
    ) -> Iterator[RecordFile]:
        """The scored rows of every part, on our disk."""
        if self.shares_disk:
            return self.work(partial(_spill, scorer, folder, lots), parts)
        scored = zip(parts, self.work(scorer, parts), strict=True)
        return (write_records(folder / f"{part.number}", rows, lots) for part, rows in scored)

    def _told(self, found: Iterator[T], parts: Sequence[LogPart], times: int) -> Iterator[T]:
        """What is found of each part, while progress is told."""
        for part, one in zip(parts, found, strict=True):
            self.advance(times * part.rows)
            yield one


def _joined(found: Sequence[Smoothed]) -> Smoothed:
    """All parts, in their order."""
    return tuple(reduce(SmoothedSides.plus, kind) for kind in zip(*found, strict=True))


def _spill(scorer: Scorer, folder: Path, lots: int, part: LogPart) -> RecordFile:
    return write_records(folder / f"{part.number}", scorer(part), lots)


def _sum_part(
    scorer: Scorer, bounds: Bounds, seed: int, whole: Whole, part: LogPart
) -> tuple[LogSums, Smoothed]:
    rows = scorer(part)
    sums = _sum_records(scorer.frame, bounds, seed, part.number, False, rows)
    return sums, smooth(scorer.frame.scored(rows, False)[0], whole)


def _sum_lot(
    frame: LogFrame, bounds: Bounds, seed: int, files: Sequence[RecordFile], contexts_known: bool, lot: int
) -> LogSums:
    return _sum_records(frame, bounds, seed, lot, contexts_known, read_lot(files, lot, frame.record))


def _smooth_lot(
    frame: LogFrame, whole: Whole, files: Sequence[RecordFile], contexts_known: bool, lot: int
) -> Smoothed | None:
    rows = read_lot(files, lot, frame.record)
    return smooth(frame.scored(rows, contexts_known)[0], whole) if len(rows) else None


def _sum_records(
    frame: LogFrame, bounds: Bounds, seed: int, number: int, contexts_known: bool, rows: Records
) -> LogSums:
    """The sums of some rows; their share of all blocks is that of all rows."""
    log, model = frame.scored(rows, contexts_known)
    blocks = max(1, int(MOST_BLOCKS * len(rows) / frame.counts.sum()))
    return sum_up(log, model, bounds, np.random.default_rng([seed, number]), blocks)


def _check_room(folder: Path, frame: LogFrame) -> None:
    needed, free = int(frame.counts.sum()) * frame.record.itemsize, shutil.disk_usage(folder).free
    if needed > free:
        raise BadInput(
            f"a log this long needs {needed / 1e9:.1f} GB of temporary files, {folder.parent} has "
            f"{free / 1e9:.1f} GB left; make room, or name another folder by TMPDIR"
        )
