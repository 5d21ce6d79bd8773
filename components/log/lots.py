"""The rows of a log in memory or on disk, of one side of the split or of both, lot by lot."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Vector
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


def lots(log: LearnerLog, validation: bool | None = None) -> Iterator[Lot]:
    """All rows of one side or of both once."""
    if isinstance(log, StreamedLog):
        for chunk in log.chunks(validation):
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
    for side in (False, True) if validation is None else (validation,):
        part = log.part(side)
        yield Lot(
            part.context,
            part.logger,
            part.action,
            part.delta,
            part.log_propensity,
            part.log_average,
            part.counts,
        )
