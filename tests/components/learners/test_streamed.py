"""Learning from a log on disk: the same bits for the same seed, and the quality of learning in memory."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from multilogger.components.errors import BadInput
from multilogger.components.learners.epoch_record import EpochRecord
from multilogger.components.learners.methods import METHODS, STREAMED_METHODS, Learned, learn
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.streamed_log import StreamedLog, open_streamed_log
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.policies import expected_hamming


class Killed(Exception):
    pass


def same_bits(one: Learned, other: Learned) -> bool:
    left, right = one.policy.network.state_dict(), other.policy.network.state_dict()
    # NaN stands where a method has no such figure, so records are compared by their text.
    return repr(one.records) == repr(other.records) and all(torch.equal(left[n], right[n]) for n in right)


@pytest.fixture
def small(quick: LearnerSettings) -> LearnerSettings:
    return replace(quick, memory_rows=200, epochs=5, checkpoint_every=2)


def test_seed_decides_the_bits(streamed: StreamedLog, small: LearnerSettings) -> None:
    first = learn("weighted", streamed, small, seed=1)
    assert same_bits(learn("weighted", streamed, small, seed=1), first)
    assert not same_bits(learn("weighted", streamed, small, seed=2), first)


@pytest.mark.parametrize(
    ("method", "shift"), [("naive", LossShift.BASELINE), ("weighted", LossShift.RUNNING)]
)
def test_resumed_run_equals_the_unbroken_one(
    method: str, shift: LossShift, streamed: StreamedLog, small: LearnerSettings, tmp_path: Path
) -> None:
    settings = replace(small, loss_shift=shift)

    def kill(record: EpochRecord) -> None:
        if record.epoch == 3:
            raise Killed

    with pytest.raises(Killed):
        learn(method, streamed, settings, 7, kill, tmp_path)
    heard: list[int] = []
    resumed = learn(method, streamed, settings, 7, lambda record: heard.append(record.epoch), tmp_path)
    assert heard == [3, 4, 5]
    assert same_bits(resumed, learn(method, streamed, settings, 7))


@pytest.mark.parametrize("method", STREAMED_METHODS)
def test_quality_is_that_of_learning_in_memory(
    method: str,
    make_log: Callable[..., TrainingLog],
    write_log: Callable[..., Path],
    quick: LearnerSettings,
    tmp_path: Path,
) -> None:
    log = make_log(contexts=300)
    assert log.truth is not None
    settings = replace(quick, memory_rows=300, epochs=12, patience=12)
    streamed = open_streamed_log(write_log(log, tmp_path, group_rows=400), log.x, log.logger_logits)
    memory, disk = (learn(method, each, settings, 0) for each in (log, streamed))
    assert disk.best.eligible
    assert disk.best.validation_risk == pytest.approx(memory.best.validation_risk, abs=0.12)
    logger = expected_hamming(log.logger_logits[1], log.truth).mean()
    risks = [expected_hamming(each.policy.logits(log.x), log.truth).mean() for each in (memory, disk)]
    assert risks[1] < 0.75 * logger
    assert risks[1] == pytest.approx(risks[0], abs=0.12)


def test_checkpoint_in_memory_is_not_one_on_disk(
    log: TrainingLog, streamed: StreamedLog, small: LearnerSettings, tmp_path: Path
) -> None:
    learn("naive", log, small, 0, checkpoint=tmp_path)
    with pytest.raises(BadInput, match="is of another run, it differs in streamed; give an empty folder"):
        learn("naive", streamed, small, 0, checkpoint=tmp_path)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(STREAMED_METHODS)))
def test_other_methods_refuse(method: str, streamed: StreamedLog, small: LearnerSettings) -> None:
    message = (
        f"{method} needs the whole log in memory, got 1050 rows with learn.memory_rows=200; raise "
        "learn.memory_rows, or choose a method that streams: naive, weighted, balanced"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        learn(method, streamed, small, 0)


def test_loggers_may_be_unknown(log: TrainingLog, log_folder: Path, small: LearnerSettings) -> None:
    learned = learn("balanced", open_streamed_log(log_folder, log.x), replace(small, epochs=1), 0)
    assert np.isnan(learned.best.log_d2).all()
