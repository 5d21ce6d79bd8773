"""A bandit log on disk to the training log of a learner."""

from pathlib import Path

import numpy as np

from multilogger.components.bandit_log import open_log, to_rows
from multilogger.components.labelled_data import Features, Labels
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.policies import Matrix


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
