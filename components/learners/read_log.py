"""A bandit log on disk to the log of a learner: read as a whole, or opened to be streamed."""

from pathlib import Path

import numpy as np

from multilogger.components.bandit_log import LogRows, open_log, to_rows
from multilogger.components.errors import BadInput
from multilogger.components.labelled_data import Features, Labels
from multilogger.components.learners.streamed_log import RowGroup, Side, StreamedLog
from multilogger.components.learners.training_log import TrainingLog, check_tables
from multilogger.components.policies import Matrix, Vector


def read_training_log(
    folder: Path, x: Features, logger_logits: tuple[Matrix, ...] = (), truth: Labels | None = None
) -> TrainingLog:
    """All rows of the log in a folder, with the contexts `x` (m, d) that it was made from."""
    table = open_log(folder).to_table()
    rows = to_rows(table)
    return TrainingLog(
        x=x,
        context=rows.context.astype(np.int64),
        action=rows.action,
        delta=rows.delta,
        log_propensities=rows.log_propensities,
        logger=np.asarray(table.column("logger")).astype(np.int64),
        validation=rows.validation,
        logger_logits=logger_logits,
        truth=truth,
    )


def count_rows(folder: Path) -> int:
    """The rows of a log on disk, from the metadata of its files."""
    return int(open_log(folder).count_rows())


def open_streamed_log(
    folder: Path, x: Features, logger_logits: tuple[Matrix, ...] = (), truth: Labels | None = None
) -> StreamedLog:
    """The log in a folder, with the contexts `x` (m, d) that it was made from; one pass counts and checks it.

    The counts of both sides must be known before any row: h_avg depends on them.
    """
    groups, labels = _row_groups(folder)
    contexts = int(x.shape[0])
    train_contexts = np.zeros((len(groups), contexts), dtype=np.int64)
    tallies = [[_Tally(), _Tally()] for _ in groups]
    for j, own in enumerate(groups):
        for rows in (rows for group in own for rows in group.read()):
            _check_rows(rows, contexts)
            train_contexts[j] += np.bincount(rows.context[~rows.validation], minlength=contexts)
            for validation, tally in zip((False, True), tallies[j], strict=True):
                tally.add(rows.delta[rows.validation == validation])
    train, validation_side = (
        Side(np.array([t[i].count for t in tallies], np.float64), np.array([t[i].delta for t in tallies]))
        for i in range(2)
    )
    for part, side in (("training", train), ("validation", validation_side)):
        if (side.counts == 0).any():
            raise BadInput(
                f"every logger needs rows in the {part} split, got loggers "
                f"{np.flatnonzero(side.counts).tolist()} of {len(groups)}; log more, or change the split"
            )
    check_tables(logger_logits, truth, len(groups), (contexts, labels))
    return StreamedLog(x, groups, train, validation_side, labels, train_contexts, logger_logits, truth)


class _Tally:
    def __init__(self) -> None:
        self.count, self.delta = 0, 0.0

    def add(self, delta: Vector) -> None:
        self.count += len(delta)
        self.delta += float(delta.sum())


def _row_groups(folder: Path) -> tuple[tuple[tuple[RowGroup, ...], ...], int]:
    """The row groups of each logger, in the order of the files' names, and the number of labels."""
    import pyarrow.dataset as ds

    dataset = open_log(folder)
    loggers = dataset.schema.field("log_propensities").type.list_size
    groups: list[list[RowGroup]] = [[] for _ in range(loggers)]
    for fragment in sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path)):
        logger = int(ds.get_partition_keys(fragment.partition_expression)["logger"])
        if not 0 <= logger < loggers:
            raise BadInput(
                f"logger ids must lie in 0..{loggers - 1}, the columns of log_propensities, got {logger} in "
                f"{fragment.path}"
            )
        metadata = fragment.metadata
        groups[logger] += [RowGroup(fragment.path, metadata, i) for i in range(metadata.num_row_groups)]
    return tuple(tuple(own) for own in groups), int(dataset.schema.field("action").type.list_size)


def _check_rows(rows: LogRows, contexts: int) -> None:
    if len(rows.context) and not 0 <= rows.context.min() <= rows.context.max() < contexts:
        raise BadInput(
            f"context numbers must lie in 0..{contexts - 1}, got {rows.context.min()} to "
            f"{rows.context.max()}; give the contexts that the log was made from"
        )
    if np.isnan(rows.log_propensities).any() or (rows.log_propensities > 0).any():
        raise BadInput(
            "log_propensities holds NaN or a propensity above 1; give the natural logarithm of a probability "
            "under every logger"
        )
