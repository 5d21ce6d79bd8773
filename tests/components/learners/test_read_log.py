from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from multilogger.components.bandit_log import LogRows, log_file, log_schema, to_table
from multilogger.components.learners.read_log import read_training_log
from multilogger.components.learners.training_log import TrainingLog


def test_log_on_disk_is_the_log_in_memory(tmp_path: Path, log: TrainingLog) -> None:
    for j in range(log.loggers):
        mine = np.flatnonzero(log.logger == j)
        for pass_, rows in enumerate(np.array_split(mine, 2)):
            path = log_file(tmp_path, j, pass_)
            path.parent.mkdir(parents=True)
            part = LogRows(
                context=log.context[rows].astype(np.int32),
                action=log.action[rows],
                delta=log.delta[rows],
                log_propensity=log.log_propensities[rows, j],
                log_propensities=log.log_propensities[rows],
                validation=log.validation[rows],
            )
            pq.write_table(to_table(part, log_schema(log.labels, log.loggers)), path)
    back = read_training_log(tmp_path, log.x, log.logger_logits, log.truth)
    for name in ("context", "action", "delta", "log_propensities", "logger", "validation"):
        np.testing.assert_array_equal(getattr(back, name), getattr(log, name))
