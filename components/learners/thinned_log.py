"""A log in memory that stands for a longer one on disk: some of its rows, chosen at random."""

import numpy as np
from numpy.typing import NDArray

from multilogger.components.bandit_log import LogRows
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.training_log import TrainingLog


def thin_log(log: StreamedLog, rows: int, seed: int = 0) -> TrainingLog:
    """At most `rows` rows, in proportion of every logger and side of the split, or one where that is none."""
    parts: list[LogRows] = []
    loggers: list[NDArray[np.int64]] = []
    for j in range(log.loggers):
        for part in _chosen_rows(log, j, rows / log.rows, np.random.default_rng([seed, j])):
            parts.append(part)
            loggers.append(np.full(len(part.delta), j))
    return TrainingLog(
        x=log.x,
        context=np.concatenate([part.context for part in parts]).astype(np.int64),
        action=np.concatenate([part.action for part in parts]),
        delta=np.concatenate([part.delta for part in parts]),
        log_propensities=np.concatenate([part.log_propensities for part in parts]),
        logger=np.concatenate(loggers),
        validation=np.concatenate([part.validation for part in parts]),
        logger_logits=log.logger_logits,
        truth=log.truth,
    )


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
    return LogRows(
        context=rows.context[kept],
        action=rows.action[kept],
        delta=rows.delta[kept],
        log_propensity=rows.log_propensity[kept],
        log_propensities=rows.log_propensities[kept],
        validation=rows.validation[kept],
    )
