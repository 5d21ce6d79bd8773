from pathlib import Path

import numpy as np

from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import read_training_log


def test_log_on_disk_is_the_log_in_memory(log_folder: Path, log: TrainingLog) -> None:
    back = read_training_log(log_folder, log.x, log.logger_logits, log.truth)
    for name in ("context", "action", "delta", "log_propensities", "logger", "validation"):
        np.testing.assert_array_equal(getattr(back, name), getattr(log, name))
