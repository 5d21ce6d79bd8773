"""The rows of a log in memory or on disk, both sides of the split, as the judge of a portfolio reads them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.log.disk import LearnerLog, StreamedLog


class Lot(NamedTuple):
    """Some rows of one side, with log h_j of their own logger and log h_avg of that side.

    The side's loggers have `counts` (J,) rows.
    """

    context: NDArray[np.int64]
    logger: Loggers
    action: Actions
    delta: Vector
    log_propensity: Vector
    log_average: Vector
    counts: Vector


def lots(log: LearnerLog) -> Iterator[Lot]:
    """All rows of a log once."""
    if isinstance(log, StreamedLog):
        for chunk in log.chunks():
            counts = log.side(chunk.validation).counts
            logger = np.full(len(chunk.delta), chunk.logger)
            yield Lot(
                chunk.context,
                logger,
                chunk.action,
                chunk.delta,
                chunk.log_propensity,
                chunk.log_average,
                counts,
            )
        return
    for validation in (False, True):
        part = log.part(validation)
        yield Lot(
            part.context,
            part.logger,
            part.action,
            part.delta,
            part.log_propensity,
            part.log_average,
            part.counts,
        )


class OwnSums(NamedTuple):
    """Of each logger's own rows, each counted n/n_j times, by context: (J, m); and all rows (m,)."""

    losses: Matrix
    rewards: Matrix
    rows: Vector


def own_sums(log: LearnerLog) -> OwnSums:
    """What each logger's own rows say, with rewards r = 1 - delta/L."""
    shape = log.loggers, log.contexts
    losses, weights, rows = np.zeros(shape), np.zeros(shape), np.zeros(log.contexts)
    for lot in lots(log):
        share = lot.counts.sum() / lot.counts
        rows += np.bincount(lot.context, minlength=log.contexts)
        for j in range(log.loggers):
            own = np.where(lot.logger == j, share[j], 0.0)
            losses[j] += np.bincount(lot.context, own * lot.delta, minlength=log.contexts)
            weights[j] += np.bincount(lot.context, own, minlength=log.contexts)
    return OwnSums(losses, weights - losses / log.space.largest_loss, rows)


def all_counts(log: LearnerLog) -> Vector:
    """n_j of both sides: (J,)."""
    if isinstance(log, StreamedLog):
        return log.train.counts + log.validation.counts
    return log.part(validation=False).counts + log.part(validation=True).counts
