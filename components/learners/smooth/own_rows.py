"""The rows of one side of a log, in memory or on disk, and the mean of what a method makes of each."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.learners.training.record import Risk
from multilogger.components.log.disk import LearnerLog, StreamedLog


class OwnRows(NamedTuple):
    """Some rows of one side, with log h_avg of its logger counts."""

    context: NDArray[np.int64]
    logger: Loggers
    action: Actions
    delta: Vector
    log_average: Vector


def own_rows(log: LearnerLog, validation: bool) -> Iterator[OwnRows]:
    """All rows of one side once."""
    if isinstance(log, StreamedLog):
        for chunk in log.chunks(validation):
            who = np.full(len(chunk.delta), chunk.logger)
            yield OwnRows(chunk.context, who, chunk.action, chunk.delta, chunk.log_average)
    else:
        part = log.part(validation)
        yield OwnRows(part.context, part.logger, part.action, part.delta, part.log_average)


def mean_of(log: LearnerLog, validation: bool, values: Callable[[OwnRows], Vector]) -> Risk:
    """The mean of a value of each row, with the standard error of independent rows."""
    count, total, squares = 0, 0.0, 0.0
    for rows in own_rows(log, validation):
        found = values(rows)
        count += len(found)
        total += float(found.sum())
        squares += float(found @ found)
    mean = total / count
    spread = max(0.0, squares / count - mean**2) / max(1, count - 1)
    return Risk(mean, math.sqrt(spread) if count > 1 else math.nan)
