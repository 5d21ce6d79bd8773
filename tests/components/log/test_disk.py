import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.log.disk import PolicyTable, StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from multilogger.components.log.schema import log_file


def test_facts_are_those_of_the_log_in_memory(log: TrainingLog, streamed: StreamedLog) -> None:
    for name in ("rows", "loggers", "contexts", "features", "space", "total_delta"):
        assert getattr(streamed, name) == getattr(log, name), name
    for validation in (False, True):
        part, side = log.part(validation), streamed.side(validation)
        np.testing.assert_array_equal(side.counts, part.counts)
        np.testing.assert_array_equal(side.delta_sums, np.bincount(part.logger, part.delta))
    assert all(len(groups) > 4 for groups in streamed.groups)


@pytest.mark.parametrize("validation", [False, True])
def test_chunks_are_the_rows_of_a_side(log: TrainingLog, streamed: StreamedLog, validation: bool) -> None:
    part, logits = log.part(validation), 2.0 * log.logger_logits[1]
    chunks = [chunk for chunk in streamed.chunks() if chunk.validation == validation]
    assert max(len(chunk.delta) for chunk in chunks) <= 60
    for name in ("context", "action", "delta", "log_propensity", "log_average"):
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(joined, getattr(part, name), err_msg=name)
    policy = PolicyTable.of(streamed.space, logits)
    log_target = np.concatenate([chunk.under(policy).log_target for chunk in chunks])
    np.testing.assert_array_equal(log_target, part.under(logits).log_target)


def test_row_group_larger_than_the_limit_is_read_in_parts(streamed: StreamedLog) -> None:
    group = streamed.groups[0][0]
    whole = [rows.context for rows in group.read()]
    parts = [rows.context for rows in group.read(chunk_rows=7)]
    assert len(whole) == 1
    assert max(len(part) for part in parts) == 7
    np.testing.assert_array_equal(np.concatenate(parts), whole[0])


def test_split_without_a_logger_is_refused(
    log: TrainingLog, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    folder = write_log(log, tmp_path, files=1)
    log_file(folder, 1, 0).unlink()
    message = (
        "every logger needs rows in the training split, got loggers [0] of 2; log more, or change the split"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        open_streamed_log(folder, log.x)


def test_foreign_contexts_and_logits_are_refused(log: TrainingLog, log_folder: Path) -> None:
    with pytest.raises(
        BadInput, match=r"^context numbers must lie in 0\.\.99, got 60 to 119; give the contexts"
    ):
        open_streamed_log(log_folder, log.x[:100])
    with pytest.raises(BadInput, match=r"^logits of 2 loggers are needed, got 1$"):
        open_streamed_log(log_folder, log.x, log.logger_logits[:1])


def test_propensity_above_one_is_refused(
    log: TrainingLog, tmp_path: Path, write_log: Callable[..., Path]
) -> None:
    wrong = replace(log, log_propensities=-log.log_propensities)
    with pytest.raises(BadInput, match="propensities under every logger hold NaN or a propensity above 1"):
        open_streamed_log(write_log(wrong, tmp_path), log.x)
