"""Lots have every row of the sides that are asked for, in memory and on disk."""

import numpy as np
import pytest

from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.lots import lots
from multilogger.components.log.memory import TrainingLog


@pytest.mark.parametrize("validation", [False, True])
def test_lots_of_a_side_are_its_rows(log: TrainingLog, streamed: StreamedLog, validation: bool) -> None:
    part = log.part(validation)
    for place in (log, streamed):
        found = list(lots(place, validation))
        for name in ("context", "logger", "action", "delta", "log_average"):
            joined = np.concatenate([getattr(lot, name) for lot in found])
            np.testing.assert_array_equal(joined, getattr(part, name), err_msg=name)
        for lot in found:
            np.testing.assert_array_equal(lot.counts, part.counts)


def test_lots_of_both_sides_are_all_rows(log: TrainingLog, streamed: StreamedLog) -> None:
    def rows(place: LearnerLog, validation: bool | None) -> int:
        return sum(len(lot.delta) for lot in lots(place, validation))

    for place in (log, streamed):
        assert rows(place, None) == rows(place, False) + rows(place, True) == log.rows
