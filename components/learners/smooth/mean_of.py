"""The mean of what a method makes of each row of one side of a log."""

import math
from collections.abc import Callable

from multilogger.components.actions.arrays import Vector
from multilogger.components.learners.training.record import Risk
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.lots import Lot, lots


def mean_of(log: LearnerLog, validation: bool, values: Callable[[Lot], Vector]) -> Risk:
    """The mean of a value of each row, with the standard error of independent rows."""
    count, total, squares = 0, 0.0, 0.0
    for rows in lots(log, validation):
        found = values(rows)
        count += len(found)
        total += float(found.sum())
        squares += float(found @ found)
    mean = total / count
    spread = max(0.0, squares / count - mean**2) / max(1, count - 1)
    return Risk(mean, math.sqrt(spread) if count > 1 else math.nan)
