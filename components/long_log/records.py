"""Scored rows on disk, sorted by their contexts' keys, so that the rows of a context can be read together.

A file per part of the log, a range of it per lot; a lot has all rows of its contexts, and fits in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.context_sums import AdditiveScores, ScoredLog
from multilogger.components.log.keys import Keys

Records = NDArray[Any]
FIRST_KEYS = 2**13  # that are looked at for a context with two rows, before all are
USUAL = (
    ("key", np.uint64),
    ("logger", np.int32),
    ("is_greedy", np.bool_),
    ("log_greedy", np.float32),
    ("delta", np.float64),
    ("log_propensity", np.float64),
    ("log_target", np.float64),
)
AVERAGE = (("log_average", np.float64),)
MODELLED = (("q_logged", np.float64), ("q_target", np.float64))
ADDITIVE = (("own", np.float64), ("balanced", np.float64))


@dataclass(frozen=True)
class LogFrame:
    """What is known of a log before it is scored, and which figures each row has.

    `names` are the loggers'; `shares` (J,) and `effective_rows` belong to additive weights.
    """

    names: tuple[str, ...]
    counts: Vector
    max_loss: float
    balanced: bool
    modelled: bool
    shares: Vector | None = None
    effective_rows: float = 0.0

    @property
    def record(self) -> "np.dtype[Any]":
        """One row, packed."""
        parts = [*USUAL, *(AVERAGE if self.balanced else ()), *(MODELLED if self.modelled else ())]
        return np.dtype([*parts, *(ADDITIVE if self.shares is not None else ())])

    def scored(self, rows: Records, contexts_known: bool) -> tuple[ScoredLog, ModelledLoss | None]:
        """Records as a log of their own, contexts numbered in the order in which they come."""
        column = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
        log = ScoredLog(
            names=self.names,
            logger=column["logger"].astype(np.int64),
            context=_numbers(column["key"]) if contexts_known else np.arange(len(rows)),
            delta=column["delta"],
            log_propensity=column["log_propensity"],
            log_target=column["log_target"],
            max_loss=self.max_loss,
            log_average=column.get("log_average"),
            is_greedy=column["is_greedy"],
            log_greedy=column["log_greedy"],
            additive=None
            if self.shares is None
            else AdditiveScores(column["own"], column["balanced"], self.shares, self.effective_rows),
        )
        return log, ModelledLoss(column["q_logged"], column["q_target"]) if self.modelled else None


def _numbers(keys: Keys) -> NDArray[np.int64]:
    """Where no two rows share a context, sorting tells it in a tenth of the time."""
    few = np.sort(keys[:FIRST_KEYS])
    if not (few[1:] == few[:-1]).any():
        every = np.sort(keys)
        if not (every[1:] == every[:-1]).any():
            return np.arange(len(keys))
    import pyarrow as pa

    return np.asarray(pa.array(keys).dictionary_encode().indices).astype(np.int64)


@dataclass(frozen=True)
class RecordFile:
    """The rows of one part; those of lot k stand from `starts[k]` to `starts[k + 1]`."""

    path: Path
    starts: NDArray[np.int64]


def write_records(path: Path, rows: Records, lots: int) -> RecordFile:
    """Write rows in the order of their lots, and within one as they come."""
    lot = (rows["key"] % np.uint64(lots)).astype(np.uint16)
    whole = rows.view(np.dtype((np.void, rows.itemsize)))  # as one piece each: field by field takes long
    whole[np.argsort(lot, kind="stable")].tofile(path)
    return RecordFile(path, np.r_[0, np.cumsum(np.bincount(lot, minlength=lots))])


def read_lot(files: Sequence[RecordFile], lot: int, record: "np.dtype[Any]") -> Records:
    """All rows of one lot, in the order of the parts."""
    found, size = [], record.itemsize
    for file in files:
        first, last = int(file.starts[lot]), int(file.starts[lot + 1])
        found.append(np.fromfile(file.path, np.uint8, (last - first) * size, offset=first * size))
    return np.concatenate(found).view(record)
