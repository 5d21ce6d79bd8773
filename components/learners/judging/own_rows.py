"""What the own rows of each logger say, summed over a log in memory or on disk."""

from typing import NamedTuple

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.lots import lots


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
