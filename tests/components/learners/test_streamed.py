"""Learning from a log on disk: the same bits for the same seed, and the quality of learning in memory."""

import math
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.errors import BadInput
from multilogger.components.learners.learn import Learned
from multilogger.components.learners.methods import reads
from multilogger.components.learners.training.objectives import BALANCED, NAIVE, WEIGHTED
from multilogger.components.learners.training.row_measures import MemoryMeasure, StreamedMeasure
from multilogger.components.learners.training.settings import LossShift
from multilogger.components.learners.training.shuffle import ShuffleBuffer
from multilogger.components.log.disk import Chunk, StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn
from tests.components.learners.test_resume import check_resume

OBJECTIVE_OF = {
    "wcrm": "weighted",
    "ls": "balanced",
    "ix": "balanced",
    "additive-ips": "naive",
    "additive": "balanced",
    "additive-soft": "balanced",
    "dr": "balanced",
    "auto": "balanced",
    "full-information": "naive",
}


def same_bits(one: Learned, other: Learned) -> bool:
    left, right = one.policy.network.state_dict(), other.policy.network.state_dict()
    # NaN stands where a method has no such figure, so records are compared by their text.
    return repr(one.records) == repr(other.records) and all(torch.equal(left[n], right[n]) for n in right)


@pytest.fixture(scope="module")
def log(make_log: Callable[..., TrainingLog]) -> TrainingLog:
    """Fewer contexts than elsewhere: a log on disk is slow."""
    return make_log(contexts=60)


@pytest.fixture(scope="module")
def log_folder(
    log: TrainingLog, write_log: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Few row groups: opening them is most of the work, and two per file are several."""
    return write_log(log, tmp_path_factory.mktemp("log"), group_rows=70)


@pytest.fixture(scope="module")
def streamed(log: TrainingLog, log_folder: Path) -> StreamedLog:
    return open_streamed_log(log_folder, log.x, log.logger_logits, log.truth)


@pytest.fixture
def small(quick: EverySetting) -> EverySetting:
    return replace(
        quick,
        memory_rows=200,
        batch_size=32,
        epochs=4,
        checkpoint_every=2,
        wcrm_clips=(10.0,),
        wcrm_rounds=1,
        wcrm_iterations=6,
    )


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_seed_decides_the_bits(method: str, streamed: StreamedLog, small: EverySetting) -> None:
    settings = replace(small, epochs=1, wcrm_l2s=(1e-2,))
    first = learn(method, streamed, settings, seed=1)
    assert same_bits(learn(method, streamed, settings, seed=1), first)
    # L-BFGS starts from the uniform policy, whatever the seed.
    assert same_bits(learn(method, streamed, settings, seed=2), first) == (method == "wcrm")


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_resumed_run_equals_the_unbroken_one(
    method: str, streamed: StreamedLog, small: EverySetting, tmp_path: Path
) -> None:
    check_resume(method, streamed, replace(small, loss_shift=LossShift.RUNNING), tmp_path, stop=3)


@pytest.mark.parametrize("stop", [3, 5])
def test_resume_of_dr_in_its_model_and_in_its_policy(
    stop: int, streamed: StreamedLog, small: EverySetting, tmp_path: Path
) -> None:
    check_resume("dr", streamed, replace(small, model_epochs=3, epochs=3), tmp_path, stop)


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_rows_held_stay_within_the_limit(
    method: str, streamed: StreamedLog, small: EverySetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in shuffle buffers, and chunks of row groups of 70 rows that anything still refers to."""
    most_held, most_chunks = 0, 0
    chunks: list[weakref.ref[object]] = []
    fill, side_of = ShuffleBuffer._fill, StreamedLog._side_of

    def watched_fill(buffer: ShuffleBuffer) -> None:
        nonlocal most_held
        fill(buffer)
        most_held = max(most_held, buffer.most_held)

    def watched_side(log: StreamedLog, *arguments: Any, **named: Any) -> Iterator[Chunk]:
        nonlocal most_chunks
        for chunk in side_of(log, *arguments, **named):
            chunks.extend(weakref.ref(array) for array in (chunk.delta, chunk.action))
            chunks[:] = [reference for reference in chunks if reference() is not None]
            most_chunks = max(most_chunks, len(chunks) // 2)
            yield chunk

    monkeypatch.setattr(ShuffleBuffer, "_fill", watched_fill)
    monkeypatch.setattr(StreamedLog, "_side_of", watched_side)
    learn(method, streamed, replace(small, epochs=2, wcrm_l2s=(1e-2,)), 0)
    draws_rows = method not in ("wcrm", "additive", "additive-soft", "auto", "full-information")
    assert (most_held > 0) == draws_rows
    assert most_held <= small.memory_rows // streamed.loggers
    assert 1 <= most_chunks <= 2 * streamed.loggers


@pytest.mark.parametrize(
    "method",
    [
        "naive",
        "weighted",
        "balanced",
        "weighted-reg",
        "balanced-exact",
        "wcrm",
        "additive",
        "additive-soft",
        "dr",
    ],
)
def test_quality_is_that_of_learning_in_memory(
    method: str,
    make_log: Callable[..., TrainingLog],
    write_log: Callable[..., Path],
    quick: EverySetting,
    tmp_path: Path,
) -> None:
    log = make_log()
    assert log.truth is not None
    settings = replace(quick, memory_rows=300, epochs=15, patience=15, model_epochs=15, wcrm_l2s=(1e-2,))
    folder = write_log(log, tmp_path, group_rows=400)
    streamed = open_streamed_log(folder, log.x, log.logger_logits, log.truth)
    memory, disk = (learn(method, each, settings, 0) for each in (log, streamed))
    assert disk.best.eligible
    logger = expected_hamming(log.logger_logits[1], log.truth).mean()
    risks = [expected_hamming(each.policy.logits(log.x), log.truth).mean() for each in (memory, disk)]
    assert risks[1] < 0.75 * logger
    assert risks[1] < risks[0] + 0.12


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_record_is_that_of_the_log_in_memory(
    method: str, log: TrainingLog, streamed: StreamedLog, quick: EverySetting
) -> None:
    """With a buffer as large as the log; what a method puts in place of the usual figures is tested by it."""
    settings = replace(quick, memory_rows=log.rows, epochs=2, wcrm_clips=(10.0,), wcrm_l2s=(1e-2,))
    learned = learn(method, streamed, settings, 0)
    objective = next(o for o in (WEIGHTED, BALANCED, NAIVE) if o.name in OBJECTIVE_OF.get(method, method))
    rules = settings.rules_of(method)
    measure = MemoryMeasure(log, objective, rules)
    snapshot = measure.snapshot(learned.policy.logits(log.x))
    disk = StreamedMeasure(streamed, objective, rules).snapshot(snapshot.logits)
    np.testing.assert_allclose(disk.shares(), snapshot.shares(), rtol=1e-10)
    allowed = learned.best.constraint + learned.best.slack if method.endswith("-exact") else None
    expected = measure.record(1, snapshot, np.array(learned.best.share), allowed=allowed)
    names = ["mean_weight", "effective_share", "largest_weight", "log_d2", "constraint", "rho"]
    if method == "wcrm" or method not in OBJECTIVE_OF:
        names += ["train_risk", "validation_risk", "validation_score"]
    for name in names:
        known = pytest.approx(getattr(expected, name), rel=1e-10, nan_ok=name == "rho")
        assert getattr(learned.best, name) == known, name
    assert math.isnan(learned.best.rho) is not reads(method, "kappa")


@pytest.mark.parametrize("method", ["wcrm", "full-information"])
def test_methods_without_mini_batches_of_rows_learn_what_they_learn_in_memory(
    method: str, log: TrainingLog, streamed: StreamedLog, quick: EverySetting
) -> None:
    settings = replace(quick, epochs=3, wcrm_clips=(10.0,))
    memory, disk = (learn(method, each, settings, 0) for each in (log, streamed))
    tolerance = 1e-4 if method == "wcrm" else 1e-10  # L-BFGS carries the last digits of its sums on
    for one, other in zip(disk.records, memory.records, strict=True):
        assert one.metrics() == pytest.approx(other.metrics(), rel=tolerance, abs=tolerance, nan_ok=True)


def test_checkpoint_in_memory_is_not_one_on_disk(
    log: TrainingLog, streamed: StreamedLog, small: EverySetting, tmp_path: Path
) -> None:
    learn("naive", log, small, 0, checkpoint=tmp_path)
    said: list[str] = []
    learn("naive", streamed, small, 0, checkpoint=tmp_path, say=said.append)
    assert "is of another run, it differs in streamed, so it is not used" in said[0]


def test_loggers_may_be_unknown(log: TrainingLog, log_folder: Path, small: EverySetting) -> None:
    learned = learn("balanced", open_streamed_log(log_folder, log.x), replace(small, epochs=1), 0)
    assert np.isnan(learned.best.log_d2).all()


def test_unknown_loggers_are_said_where_they_are_needed(
    log: TrainingLog, log_folder: Path, small: EverySetting
) -> None:
    unknown = open_streamed_log(log_folder, log.x)
    message = (
        "weighted-reg of a log on disk draws actions from the loggers' own policies, got a log without "
        "logger_logits; give their logits on all contexts, or raise memory_rows"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        learn("weighted-reg", unknown, small, 0)
    with pytest.raises(BadInput, match=r"^naive-exact needs the loggers' own policies"):
        learn("naive-exact", unknown, small, 0)
