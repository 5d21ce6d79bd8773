"""Doubly robust learning, and the loss that the additive model cannot describe."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.datasets.embedded import load_pairwise_split
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.datasets.losses import CROWDING
from multilogger.components.estimators.doubly_robust import balanced_doubly_robust
from multilogger.components.learners.dr.influence import MemoryInfluence, StreamedInfluence
from multilogger.components.learners.dr.rows import (
    MemoryPolicyRows,
    PolicyBatch,
    StreamedPolicyRows,
)
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import GroupedRows
from multilogger.components.learners.loss_models.figures import predictions
from multilogger.components.learners.loss_models.form import AdditiveForm, FoldedModel
from multilogger.components.learners.training.objectives import BALANCED
from multilogger.components.learners.training.row_batches import StreamedRows
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog, densify
from multilogger.components.log.reading import open_streamed_log
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass
from tests.components.every_setting import EverySetting, learn
from tests.components.learners.test_resume import check_resume

SETTINGS = EverySetting(
    hidden=(16,), batch_norm=False, standardise=True, risk_rate=1e-2, weight_decay=0.1, batch_size=256,
    context_batch=64, folds=2, epochs=8, patience=8, model_epochs=6, policy_rate=1e-2,
)  # fmt: skip


def linear_logits(x: Features, truth: Actions, alpha: float) -> Matrix:
    """A policy fitted to the truth by least squares, sharpened or flattened."""
    wide = np.column_stack([np.asarray(x), np.ones(x.shape[0])]).astype(np.float64)
    return np.asarray(alpha * wide @ np.linalg.lstsq(wide, 2.0 * truth - 1.0, rcond=None)[0])


@pytest.fixture(scope="module")
def pairwise() -> TrainingLog:
    """Replays of the simulated dataset with its own loss, a flat logger and a fair one."""
    train = load_pairwise_split().train
    x = np.asarray(train.x)
    logits = [linear_logits(x, train.y, alpha) for alpha in (0.1, 2.0)]
    plan = ReplayPlan(0, 0.25, SplitBy.ROW, 10_000)
    parts = [
        (j, rows)
        for j in range(2)
        for r in range(3)
        for rows in replay_pass(train.space, logits, train.y, j, r, plan, CROWDING)
    ]
    return TrainingLog(
        x=x,
        context=np.concatenate([rows.context for _, rows in parts]).astype(np.int64),
        action=np.concatenate([rows.action for _, rows in parts]),
        delta=np.concatenate([rows.delta for _, rows in parts]),
        log_propensities=np.concatenate([rows.log_propensities for _, rows in parts]),
        logger=np.concatenate([np.full(len(rows.delta), j) for j, rows in parts]),
        validation=np.concatenate([rows.validation for _, rows in parts]),
        space=train.space,
        logger_logits=tuple(logits),
        truth=train.y,
    )


def test_additive_estimate_is_biased_where_the_loss_is_pairwise_and_the_corrected_one_is_not(
    pairwise: TrainingLog,
) -> None:
    assert pairwise.truth is not None
    policy = linear_logits(pairwise.x, pairwise.truth, 3.0)
    risk = CROWDING.expected(policy, pairwise.truth).mean()
    generator = torch.Generator().manual_seed(0)
    part, held_out = pairwise.part(validation=False), pairwise.part(validation=True)
    model = AdditiveModel(
        torch.from_numpy(pairwise.x), GroupedRows(part), pairwise.space.size, SETTINGS, generator
    )
    for _ in range(SETTINGS.epochs):
        model.run_epoch()
    modelled = predictions(held_out, FoldedModel(AdditiveForm(), model.out_of_fold()), policy)
    corrected = balanced_doubly_robust(held_out.under(policy), modelled)
    alone = modelled.q_target.mean()
    spread = modelled.q_target.std() / math.sqrt(len(modelled.q_target))
    assert abs(alone - risk) > 5 * spread
    assert abs(alone - risk) > 5 * corrected.standard_error
    assert abs(corrected.value - risk) < 3 * corrected.standard_error


def test_doubly_robust_policies_beat_the_additive_one_on_test(pairwise: TrainingLog) -> None:
    test = load_pairwise_split().test

    def risk(method: str, settings: EverySetting) -> float:
        logits = learn(method, pairwise, settings, 0).policy.logits(test.x)
        return float(CROWDING.expected(logits, test.y).mean())

    larger = replace(
        SETTINGS, hidden=(64,), risk_rate=3e-3, policy_rate=3e-3, model_epochs=15, epochs=20, patience=20,
        context_batch=128,
    )  # fmt: skip
    additive = risk("additive", replace(larger, epochs=15))
    best_logger = CROWDING.expected(linear_logits(np.asarray(test.x), test.y, 2.0), test.y).mean()
    doubly_robust = risk("dr", larger)
    assert doubly_robust < additive - 0.05
    assert doubly_robust < best_logger - 0.05


def test_where_the_loss_is_additive_it_is_near_the_additive_policy(
    log: TrainingLog, make_log: Callable[..., TrainingLog]
) -> None:
    fresh = make_log(contexts=2000, passes=(1, 1), seed=6)
    settings = replace(SETTINGS, model_epochs=15)
    risks = {}
    for method in ("additive", "dr"):
        logits = learn(method, log, settings, 0).policy.logits(fresh.x)
        assert fresh.truth is not None
        risks[method] = expected_hamming(logits, fresh.truth).mean()
    assert risks["dr"] < risks["additive"] + 0.05


def whole_log(log: TrainingLog, model: FoldedModel) -> PolicyBatch:
    """All training rows as one batch."""
    rows = MemoryPolicyRows(log.part(validation=False), SETTINGS.context_batch, torch.Generator())
    rows.set_model(model)
    return rows.batch(0, torch.arange(len(rows.groups.context)))


def test_objective_is_the_estimator(log: TrainingLog) -> None:
    """On all training rows at once the mini-batch objective is R_dr of the same weights and clip."""
    part, rng = log.part(validation=False), np.random.default_rng(0)
    p, logits = rng.random((log.contexts, 3)), rng.normal(size=(log.contexts, 3))
    model = predictions(part, FoldedModel(AdditiveForm(), p), logits)
    batch = whole_log(log, FoldedModel(AdditiveForm(), p))
    tensor = torch.from_numpy(logits).float()[batch.context]
    ours = batch.risk(tensor, AdditiveForm(), TorchLabels(), clip=1e9)
    expected = balanced_doubly_robust(part.under(logits), model).value
    assert float(ours) == pytest.approx(expected, rel=1e-4)


def test_gradient_of_the_objective(log: TrainingLog) -> None:
    rows = MemoryPolicyRows(log.part(validation=False), SETTINGS.context_batch, torch.Generator())
    rows.set_model(FoldedModel(AdditiveForm(), np.random.default_rng(1).random((log.contexts, 3))))
    small = rows.batch(0, torch.arange(4))
    batch = replace(
        small,
        **{n: getattr(small, n).double() for n in ("p", "action", "log_denominator", "residual", "weight")},
    )
    logits = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(6))

    def risk(logits: Tensor) -> Tensor:
        return batch.risk(logits, AdditiveForm(), TorchLabels(), clip=4.0)

    assert torch.autograd.gradcheck(risk, (logits.requires_grad_(),))


@pytest.fixture(scope="module")
def fitted(log: TrainingLog) -> FoldedModel:
    """An additive model, a few epochs old."""
    generator = torch.Generator().manual_seed(0)
    rows, x = GroupedRows(log.part(validation=False)), torch.from_numpy(densify(log.x))
    model = AdditiveModel(x, rows, log.space.size, SETTINGS, generator)
    for _ in range(3):
        model.run_epoch()
    return FoldedModel(AdditiveForm(), model.out_of_fold())


def test_influence_from_a_log_on_disk_is_that_of_its_rows(
    log: TrainingLog, streamed: StreamedLog, fitted: FoldedModel
) -> None:
    memory = MemoryInfluence(log.part(validation=False), log.part(validation=True), 3.0)
    disk, start = StreamedInfluence(streamed, 3.0), 2.0 * log.logger_logits[1]
    policies = [log.logger_logits[1], np.random.default_rng(0).normal(size=start.shape)]
    for influence in (memory, disk):
        influence.start_from(fitted, start)
    for found, expected in zip(disk.compare(fitted, policies), memory.compare(fitted, policies), strict=True):
        assert found == pytest.approx(expected, rel=1e-10)
    assert disk.risks(fitted, policies[0]) == pytest.approx(memory.risks(fitted, policies[0]), rel=1e-10)


def test_objective_on_all_rows_from_disk_is_that_in_memory(
    make_log: Callable[..., TrainingLog], write_log: Callable[..., Path], tmp_path: Path
) -> None:
    log = make_log(passes=(3, 3))  # as many rows of each logger, so that one batch holds all of them once
    streamed = open_streamed_log(write_log(log, tmp_path), log.x)
    rng = np.random.default_rng(0)
    model, logits = (
        FoldedModel(AdditiveForm(), rng.random((log.contexts, 3))),
        rng.normal(size=(log.contexts, 3)),
    )
    source = StreamedRows(streamed, BALANCED, replace(SETTINGS, batch_size=10**6), 0)
    rows = StreamedPolicyRows(streamed, source)
    rows.set_model(model)
    no_fold = torch.full((log.contexts,), 1)
    (batch,) = rows.epoch(no_fold, members=1)
    values = []
    for each in (batch, whole_log(log, model)):
        tensor = torch.from_numpy(logits).float()[each.context]
        values.append(each.risk(tensor, AdditiveForm(), TorchLabels(), clip=4.0).item())
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_members_learn_from_rows_of_other_folds(streamed: StreamedLog, fitted: FoldedModel) -> None:
    source = StreamedRows(streamed, BALANCED, replace(SETTINGS, memory_rows=300, batch_size=40), 0)
    rows = StreamedPolicyRows(streamed, source)
    rows.set_model(fitted)
    fold = torch.arange(streamed.contexts) % 2
    seen = [0, 0]
    for batch in rows.epoch(fold, members=2):
        assert (fold[batch.context] != batch.member).all()
        seen[batch.member] += len(batch.context)
    assert sum(seen) == streamed.loggers * streamed.train.counts.max()


def test_the_start_stays_unless_validation_rows_say_otherwise(log: TrainingLog) -> None:
    settings = replace(SETTINGS, pessimism=1e6, model_epochs=2, epochs=4)
    learned = learn("dr", log, settings, 0)
    assert learned.best.epoch == 3  # the first after the model's two
    assert [record.eligible for record in learned.records] == [False] * 2 + [True] * 4


@pytest.mark.parametrize("stop", [3, 5])
def test_resume(stop: int, log: TrainingLog, tmp_path: Path) -> None:
    settings = replace(SETTINGS, model_epochs=2, epochs=4, checkpoint_every=2)
    check_resume("dr", log, settings, tmp_path, stop)
