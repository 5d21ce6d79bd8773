"""A bandit log on disk to the log of a learner: read as a whole, opened to be streamed, or thinned."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_table_of_propensities
from multilogger.components.log.checks import check_contexts, check_tables
from multilogger.components.log.disk import RowGroup, SideTotals, StreamedLog, to_rows
from multilogger.components.log.files import LogFiles, open_log_files
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.schema import LogRows, space_of


def read_training_log(
    folder: Path, x: Features, logger_logits: tuple[Matrix, ...] = (), truth: Actions | None = None
) -> TrainingLog:
    """All rows of the log in a folder, with the contexts `x` (m, d) that it was made from."""
    files = open_log_files(folder, contexts_given=True)
    return _joined(list(read_rows(files)), space_of(files.dataset.schema), x, logger_logits, truth)


class LogBatch(NamedTuple):
    """Some rows of a log and the logger of each (n,)."""

    rows: LogRows
    logger: NDArray[np.int64]


def read_rows(files: LogFiles) -> Iterator[LogBatch]:
    """The rows that learning reads, batch by batch, of a log whose loggers are numbered from 0."""
    columns, space = files.columns, space_of(files.dataset.schema)
    for batch in files.batches([columns.logger, *columns.learned]):
        logger = np.asarray(batch.batch.column(columns.logger)).astype(np.int64)
        yield LogBatch(to_rows(batch, columns, space), logger)


def _joined(
    parts: Sequence[LogBatch],
    space: ActionSpace,
    x: Features,
    logger_logits: tuple[Matrix, ...],
    truth: Actions | None,
) -> TrainingLog:
    """One log in memory of all the parts."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part.rows, name) for part in parts])

    return TrainingLog(
        x=x,
        context=column("context").astype(np.int64),
        action=column("action"),
        delta=column("delta"),
        log_propensities=column("log_propensities"),
        logger=np.concatenate([part.logger for part in parts]),
        validation=column("validation"),
        space=space,
        logger_logits=logger_logits,
        truth=truth,
    )


def open_streamed_log(
    folder: Path, x: Features, logger_logits: tuple[Matrix, ...] = (), truth: Actions | None = None
) -> StreamedLog:
    """The log in a folder, with the contexts `x` (m, d) that it was made from; one pass counts and checks it.

    The counts of both sides must be known before any row: h_avg depends on them.
    """
    groups, space = _row_groups(folder)
    contexts = int(x.shape[0])
    train_contexts = np.zeros((len(groups), contexts), dtype=np.int64)
    counts, delta_sums = np.zeros((2, len(groups))), np.zeros((2, len(groups)))
    for j, own in enumerate(groups):
        for rows in (rows for group in own for rows in group.read()):
            check_contexts(rows.context, contexts)
            check_table_of_propensities(rows.log_propensities, str(folder))
            train_contexts[j] += np.bincount(rows.context[~rows.validation], minlength=contexts)
            for side in (False, True):
                delta = rows.delta[rows.validation == side]
                counts[int(side), j] += len(delta)
                delta_sums[int(side), j] += delta.sum()
    train, validation = (SideTotals(*both) for both in zip(counts, delta_sums, strict=True))
    _check_sides(train, validation)
    check_tables(logger_logits, truth, len(groups), contexts, space)
    return StreamedLog(x, groups, train, validation, space, train_contexts, logger_logits, truth)


def _check_sides(train: SideTotals, validation: SideTotals) -> None:
    for part, side in (("training", train), ("validation", validation)):
        if (side.counts == 0).any():
            raise BadInput(
                f"every logger needs rows in the {part} split, got loggers "
                f"{np.flatnonzero(side.counts).tolist()} of {len(side.counts)}; log more, or change the split"
            )


def _row_groups(folder: Path) -> tuple[tuple[tuple[RowGroup, ...], ...], ActionSpace]:
    """The row groups of each logger, in the order of the files' names, and what their actions are."""
    import pyarrow.dataset as ds

    files = open_log_files(folder, contexts_given=True)
    dataset, columns = files.dataset, files.columns
    space = space_of(dataset.schema)
    loggers = dataset.schema.field(columns.need("propensities")).type.list_size
    groups: list[list[RowGroup]] = [[] for _ in range(loggers)]
    for fragment in sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path)):
        logger = int(ds.get_partition_keys(fragment.partition_expression)["logger"])
        if not 0 <= logger < loggers:
            raise BadInput(
                f"logger ids must lie in 0..{loggers - 1}, the columns of log_propensities, got {logger} in "
                f"{fragment.path}"
            )
        metadata = fragment.metadata
        numbers = range(metadata.num_row_groups)
        groups[logger] += [RowGroup(fragment.path, metadata, i, columns, space) for i in numbers]
    return tuple(tuple(own) for own in groups), space


def thin_log(log: StreamedLog, rows: int, seed: int = 0) -> TrainingLog:
    """At most `rows` rows, in proportion of every logger and side of the split, or one where that is none."""
    parts = [
        LogBatch(part, np.full(len(part.delta), j))
        for j in range(log.loggers)
        for part in _chosen_rows(log, j, rows / log.rows, np.random.default_rng([seed, j]))
    ]
    return _joined(parts, log.space, log.x, log.logger_logits, log.truth)


def _chosen_rows(log: StreamedLog, logger: int, share: float, rng: np.random.Generator) -> list[LogRows]:
    """The rows of one logger that stay: on each side a fixed number, every choice of them as likely."""
    left = [int(log.side(validation).counts[logger]) for validation in (False, True)]
    wanted = [max(1, int(share * count)) for count in left]
    parts = []
    for group in log.groups[logger]:
        for rows in group.read():
            kept = []
            for validation in (False, True):
                here = np.flatnonzero(rows.validation == validation)
                left[validation] -= len(here)
                taken = int(rng.hypergeometric(len(here), left[validation], wanted[validation]))
                wanted[validation] -= taken
                kept.append(rng.choice(here, taken, replace=False))
            parts.append(_take(rows, np.sort(np.concatenate(kept))))
    return parts


def _take(rows: LogRows, kept: NDArray[np.int64]) -> LogRows:
    return LogRows(*(column[kept] for column in vars(rows).values()))
