"""The rows of a log in memory or on disk, both sides of the split, as the judge of a portfolio reads them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.log.disk import LearnerLog, StreamedLog


class Lot(NamedTuple):
    """Some rows of one side, with log h_avg of that side, whose loggers have `counts` (J,) rows."""

    context: NDArray[np.int64]
    logger: Loggers
    action: Actions
    delta: Vector
    log_average: Vector
    counts: Vector


def lots(log: LearnerLog) -> Iterator[Lot]:
    """All rows of a log once."""
    if isinstance(log, StreamedLog):
        for chunk in log.chunks():
            counts = log.side(chunk.validation).counts
            logger = np.full(len(chunk.delta), chunk.logger)
            yield Lot(chunk.context, logger, chunk.action, chunk.delta, chunk.log_average, counts)
        return
    for validation in (False, True):
        part = log.part(validation)
        yield Lot(part.context, part.logger, part.action, part.delta, part.log_average, part.counts)


def own_losses(log: LearnerLog) -> tuple[Matrix, Vector]:
    """The losses of each logger's own rows by context, each counted n/n_j times (J, m), and all rows (m,)."""
    losses, rows = np.zeros((log.loggers, log.contexts)), np.zeros(log.contexts)
    for lot in lots(log):
        share = lot.counts.sum() / lot.counts
        rows += np.bincount(lot.context, minlength=log.contexts)
        for j in range(log.loggers):
            own = np.where(lot.logger == j, share[j] * lot.delta, 0.0)
            losses[j] += np.bincount(lot.context, own, minlength=log.contexts)
    return losses, rows


def all_counts(log: LearnerLog) -> Vector:
    """n_j of both sides: (J,)."""
    if isinstance(log, StreamedLog):
        return log.train.counts + log.validation.counts
    return log.part(validation=False).counts + log.part(validation=True).counts
