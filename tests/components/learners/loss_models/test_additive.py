from dataclasses import replace

import numpy as np
import pytest
import torch

from multilogger.components.actions.label_losses import hamming
from multilogger.components.actions.labels import all_actions, log_probability_table
from multilogger.components.learners.loss_models.additive import (
    AdditiveModel,
)
from multilogger.components.learners.loss_models.additive_rows import (
    ContextMoments,
    GroupedRows,
    whitened_residuals,
)
from multilogger.components.learners.loss_models.ensemble import context_folds
from multilogger.components.learners.loss_models.figures import MemoryFigures, StreamedFigures
from multilogger.components.learners.loss_models.form import AdditiveForm, additive_loss
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import Standardisation
from tests.components.every_setting import EverySetting

SETTINGS = EverySetting(hidden=(8,), batch_norm=False, risk_rate=1e-2, context_batch=32, epochs=15, folds=2)


def fit(log: TrainingLog, settings: EverySetting = SETTINGS, epochs: int = 15) -> AdditiveModel:
    x = Standardisation.fit(log.x)(log.x)
    generator = torch.Generator().manual_seed(0)
    model = AdditiveModel(x, GroupedRows(log.part(validation=False)), log.space.size, settings, generator)
    for _ in range(epochs):
        model.run_epoch()
    return model


def test_folds_are_equal_shares() -> None:
    fold = context_folds(11, 3, torch.Generator().manual_seed(0))
    assert sorted(torch.bincount(fold).tolist()) == [3, 4, 4]


def test_certain_labels_give_the_hamming_loss() -> None:
    truth, y = all_actions(3)[[1, 4, 6]], all_actions(3)[[3, 4, 1]]
    np.testing.assert_array_equal(additive_loss(truth.astype(np.float64), y), hamming(y, truth))


def test_expected_loss_is_the_sum_over_all_actions() -> None:
    rng = np.random.default_rng(0)
    p, logits, actions = rng.random((4, 3)), rng.normal(size=(4, 3)), all_actions(3)
    table = np.stack([additive_loss(np.tile(row, (8, 1)), actions) for row in p])
    expected = (np.exp(log_probability_table(logits, actions)) * table).sum(axis=1)
    np.testing.assert_allclose(AdditiveForm().expected(p, logits), expected, rtol=1e-12)


def test_whitening_solves_with_the_covariance_of_a_context() -> None:
    rng = np.random.default_rng(1)
    signs, spread = rng.choice([-1.0, 1.0], size=(2, 4, 3)), rng.random((2, 3))
    noise, residual = rng.random((2, 4)) + 0.1, rng.normal(size=(2, 4))
    ours = whitened_residuals(*(torch.from_numpy(a) for a in (residual, signs, spread, noise)))
    for g in range(2):
        covariance = signs[g] @ np.diag(spread[g]) @ signs[g].T + np.diag(noise[g])
        np.testing.assert_allclose(ours[g], np.linalg.solve(covariance, residual[g]), rtol=1e-10)


def test_out_of_fold_error_nears_that_of_the_truth(log: TrainingLog) -> None:
    model = fit(log)
    figures = MemoryFigures(AdditiveForm(), log.part(validation=False), log.part(validation=True))
    ignorant = figures.score(np.full((log.contexts, log.space.size), 0.5))
    assert figures.score(model.out_of_fold()) < 0.75 * ignorant
    assert log.truth is not None
    assert ((model.out_of_fold() > 0.5) == log.truth).mean() > 0.75


def test_a_member_knows_nothing_of_its_fold(log: TrainingLog) -> None:
    model = fit(log, epochs=2)
    altered = log.delta.copy()
    left_out = (model.fold == 0).numpy()[log.context]
    altered[left_out] = 3.0 - altered[left_out]
    # The noise of a logger is estimated on all rows, so it is held still here.
    still = replace(SETTINGS, working_noise=50.0)
    one, other = fit(log, still, epochs=2), fit(replace(log, delta=altered), still, epochs=2)
    assert torch.equal(one.member(0), other.member(0))
    assert not torch.equal(one.member(1), other.member(1))


def test_a_logger_with_noisy_losses_counts_for_less(log: TrainingLog) -> None:
    rng = np.random.default_rng(2)
    noisy = np.where(log.logger == 0, np.clip(log.delta + 1.5 * rng.normal(size=log.rows), 0, 3), log.delta)
    noise = fit(replace(log, delta=noisy)).noise
    assert float(noise[0]) > 5 * float(noise[1])


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_dropout_keeps_the_mean_of_inputs(log: TrainingLog, share: float) -> None:
    model = fit(log, replace(SETTINGS, input_dropout=share), epochs=0)
    x = torch.ones(4000, 4)
    thinned = model.thin_inputs(x)
    assert float(thinned.mean()) == pytest.approx(1.0, abs=0.03)
    assert sorted(set(thinned.flatten().tolist())) == ([1.0] if share == 0 else [0.0, 2.0])


def test_moments_of_a_log_on_disk_pull_as_its_rows_do(log: TrainingLog, streamed: StreamedLog) -> None:
    """The same gradient in p and the same noise, where no context has more rows than a group holds."""
    rows, moments = GroupedRows(log.part(validation=False)), ContextMoments(streamed)
    assert torch.equal(moments.context, rows.context)
    rng = np.random.default_rng(4)
    groups = torch.from_numpy(rng.permutation(len(rows.context))[:40])
    table, noise = torch.from_numpy(rng.random((log.contexts, 3))).float(), torch.tensor([0.02, 0.7])
    gradients = []
    for source in (rows, moments):
        p = table[source.context[groups]].requires_grad_()
        gradients.append(torch.autograd.grad(source.loss(groups, p, noise), p)[0])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(moments.excess(table), rows.excess(table), rtol=1e-4, atol=1e-5)


def test_figures_of_a_log_on_disk_are_those_of_its_rows(log: TrainingLog, streamed: StreamedLog) -> None:
    rng = np.random.default_rng(4)
    p, logits = rng.random((log.contexts, 3)), rng.normal(size=(log.contexts, 3))
    memory = MemoryFigures(AdditiveForm(), log.part(validation=False), log.part(validation=True))
    disk = StreamedFigures(AdditiveForm(), streamed, ContextMoments(streamed))
    assert disk.score(p) == pytest.approx(memory.score(p), rel=1e-10)
    assert disk.model(p, logits, 3.0) == pytest.approx(memory.model(p, logits, 3.0), rel=1e-10)
    for found, expected in zip(
        disk.risks([logits, 5 * logits]), memory.risks([logits, 5 * logits]), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-10)
