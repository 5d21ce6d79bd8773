from pathlib import Path

import numpy as np
import pytest

from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.files import open_log_files
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import read_training_log, thin_log


def test_log_on_disk_is_the_log_in_memory(log_folder: Path, log: TrainingLog) -> None:
    back = read_training_log(log_folder, log.x, log.logger_logits, log.truth)
    for name in ("context", "action", "delta", "log_propensities", "logger", "validation"):
        np.testing.assert_array_equal(getattr(back, name), getattr(log, name))
    assert open_log_files(log_folder, contexts_given=True).rows == log.rows


@pytest.mark.parametrize("rows", [40, 500])
def test_rows_are_a_part_of_the_log_in_proportion(log: TrainingLog, streamed: StreamedLog, rows: int) -> None:
    thinned = thin_log(streamed, rows)
    assert 0.9 * rows <= thinned.rows <= rows
    for validation in (False, True):
        ours, theirs = thinned.part(validation).counts, log.part(validation).counts
        assert ours == pytest.approx(theirs * rows / log.rows, abs=1.0)

    def row_bytes(one: TrainingLog) -> set[bytes]:
        table = np.column_stack([one.context, one.action, one.delta, one.log_propensities])
        return {row.tobytes() for row in table.astype(np.float64)}

    assert row_bytes(thinned) <= row_bytes(log)


def test_seed_decides_which_rows_stay_and_enough_rows_are_all(
    log: TrainingLog, streamed: StreamedLog
) -> None:
    first, second, other = (thin_log(streamed, 300, seed).context for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(thin_log(streamed, log.rows).delta, log.delta)


def test_no_split_is_left_empty(streamed: StreamedLog) -> None:
    assert thin_log(streamed, 1).rows == 4  # one row of each of two loggers on each side
