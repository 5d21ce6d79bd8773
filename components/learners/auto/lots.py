"""What the judge of a portfolio sums up of all rows of a log, in memory or on disk."""

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.lots import Lot, lots

__all__ = ["Lot", "all_counts", "lots", "own_losses"]


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
