"""The bandit log of a learner that does not hold it: contexts in memory, rows in Parquet row groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.log.columns import LogColumns
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.schema import ROW_GROUP_ROWS, LogRows

if TYPE_CHECKING:
    import pyarrow.parquet as pq


@dataclass(frozen=True, eq=False)
class RowGroup:
    """A row group of one file; the file's metadata is kept, so that no footer is read twice."""

    path: str
    metadata: "pq.FileMetaData"
    number: int
    columns: LogColumns
    space: ActionSpace

    def read(self, chunk_rows: int = ROW_GROUP_ROWS) -> Iterator[LogRows]:
        """Its rows, at most `chunk_rows` at a time."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path, metadata=self.metadata) as file:
            for batch in file.iter_batches(
                chunk_rows, row_groups=[self.number], columns=self.columns.learned, use_threads=False
            ):
                rows = np.arange(len(batch), dtype=np.int64)
                yield to_rows(ColumnBatch(self.path, rows, batch), self.columns, self.space)


def to_rows(batch: ColumnBatch, columns: LogColumns, space: ActionSpace) -> LogRows:
    """What learning reads of a batch."""
    own = batch.numbers(columns.propensity)
    return LogRows(
        context=np.asarray(batch.batch.column(columns.need("context"))),
        action=space.of_arrow(batch.batch.column(columns.action)),
        delta=batch.numbers(columns.loss),
        log_propensity=own if columns.is_log else np.log(own),
        log_propensities=batch.log_propensities(columns),
        validation=np.asarray(batch.batch.column(columns.need("validation"))),
    )


@dataclass(frozen=True)
class SideTotals:
    """The training or the validation split: rows n_j and the summed loss of each logger, (J,) each."""

    counts: Vector
    delta_sums: Vector

    @property
    def mean_loss(self) -> float:
        return float(self.delta_sums.sum() / self.counts.sum())


@dataclass(frozen=True)
class PolicyTable:
    """A policy by its logits on all contexts (m, q), and the normaliser of each (m,)."""

    space: ActionSpace
    logits: Matrix
    normaliser: Vector

    @classmethod
    def of(cls, space: ActionSpace, logits: Matrix) -> "PolicyTable":
        return cls(space, logits, space.log_normaliser(logits))

    def log_probability(self, context: NDArray[np.int64], action: Actions) -> Vector:
        """log h(y|x) of rows: (n,)."""
        return self.space.log_probability_at(self.logits, context, action, self.normaliser)


@dataclass(frozen=True)
class Chunk:
    """Some rows of one logger on one side of the split, with log h_avg(y|x) of that side's logger counts."""

    logger: int
    validation: bool
    context: NDArray[np.int64]
    action: Actions
    delta: Vector
    log_propensity: Vector
    log_average: Vector
    max_loss: float

    def under(self, policy: PolicyTable) -> LoggedBatch:
        """These rows, as those of a single logger, with log h(y|x) of a policy."""
        return LoggedBatch(
            logger=np.zeros(len(self.delta), dtype=np.int64),
            delta=self.delta,
            log_propensity=self.log_propensity,
            log_target=policy.log_probability(self.context, self.action),
            max_loss=self.max_loss,
        )


@dataclass(frozen=True, eq=False)
class StreamedLog:
    """Contexts `x` (m, d), and the row groups of each logger's log on disk.

    `train_contexts` (J, m) are the training rows that each logger has at each context. `logger_logits`, one
    (m, q) a logger, give the exact divergences; `truth` (m, q), the true labels, is for `full-information`.
    """

    x: Features
    groups: tuple[tuple[RowGroup, ...], ...]
    train: SideTotals
    validation: SideTotals
    space: ActionSpace
    train_contexts: NDArray[np.int64]
    logger_logits: tuple[Matrix, ...] = ()
    truth: Actions | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        return int(self.train.counts.sum() + self.validation.counts.sum())

    @property
    def loggers(self) -> int:
        return len(self.groups)

    @property
    def contexts(self) -> int:
        return int(self.x.shape[0])

    @property
    def features(self) -> int:
        return int(self.x.shape[1])

    @property
    def total_delta(self) -> float:
        return float(self.train.delta_sums.sum() + self.validation.delta_sums.sum())

    def side(self, validation: bool) -> SideTotals:
        return self.validation if validation else self.train

    def chunks(self, validation: bool | None = None) -> Iterator[Chunk]:
        """All rows of one side or of both in the order of the files, a row group at a time."""
        sides = (False, True) if validation is None else (validation,)
        for j, groups in enumerate(self.groups):
            for group in groups:
                for rows in group.read():
                    for side in sides:
                        yield from self._side_of(rows, j, side)

    def train_chunks(self, logger: int, order: Sequence[int], chunk_rows: int) -> Iterator[Chunk]:
        """The training rows of one logger, its row groups in a given order."""
        for number in order:
            for rows in self.groups[logger][number].read(chunk_rows):
                yield from self._side_of(rows, logger, validation=False)

    def _side_of(self, rows: LogRows, logger: int, validation: bool) -> Iterator[Chunk]:
        kept = np.flatnonzero(rows.validation == validation)
        if not len(kept):
            return
        every = rows.log_propensities[kept]
        yield Chunk(
            logger=logger,
            validation=validation,
            context=rows.context[kept].astype(np.int64),
            action=rows.action[kept],
            delta=rows.delta[kept],
            log_propensity=every[:, logger],
            log_average=log_mixture(every, self.side(validation).counts),
            max_loss=self.space.largest_loss,
        )


LearnerLog = TrainingLog | StreamedLog
"""A log as learners take it; what rows they need of it comes from memory or from disk."""
