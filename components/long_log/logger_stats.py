"""What lambda* is made of, from a log in parts: only the columns that it needs are read, each once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from multilogger.components.estimators.lambda_star import LoggerStats, update_stats
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.log.disk import PolicyTable
from multilogger.components.log.files import LogFiles
from multilogger.components.log.parts import LogPart, Mapper, here, log_parts

PART_ROWS = 2**16  # of training and validation together; their logits are in memory at a time


@dataclass(frozen=True)
class _Work:
    files: LogFiles
    policy: PolicyTable
    loggers: int


def logger_stats_of(
    files: LogFiles, policy: PolicyTable, loggers: int, work: Mapper = here
) -> tuple[LoggerStats, ...]:
    """Sufficient statistics of each logger's rows, merged in the order of the log whoever works on it."""
    stats: tuple[LoggerStats, ...] = (LoggerStats(),) * loggers
    task = partial(_of_part, _Work(files, policy, loggers))
    for parts in work(task, log_parts(files, PART_ROWS)):
        for found in parts:
            stats = tuple(mine.merge(more) for mine, more in zip(stats, found, strict=True))
    return stats


def _of_part(work: _Work, part: LogPart) -> Sequence[tuple[LoggerStats, ...]]:
    return list(_of_pieces(work, part))


def _of_pieces(work: _Work, part: LogPart) -> Iterator[tuple[LoggerStats, ...]]:
    columns, none = work.files.columns, (LoggerStats(),) * work.loggers
    names = [columns.logger, columns.need("context"), columns.action, columns.loss, columns.propensity]
    if columns.validation is not None:
        names.append(columns.validation)
    for batch in part.wholes(work.files, names):
        own = batch.numbers(columns.propensity)
        context = np.asarray(batch.batch.column(columns.need("context"))).astype(np.int64)
        action = work.policy.space.of_arrow(batch.batch.column(columns.action))
        target = work.policy.log_probability(context, action)
        weights = importance_weights(target, own if columns.is_log else np.log(own))
        logger = np.asarray(batch.batch.column(columns.logger)).astype(np.int64)
        yield update_stats(none, logger, weights, batch.numbers(columns.loss))
