"""Where loss models begin, and the blend of them that held-out rows ask for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import Labels
from multilogger.components.learners import learn as learning
from multilogger.components.learners.direct_method.method import DmSettings
from multilogger.components.learners.loss_models import settings as settings_module
from multilogger.components.learners.loss_models import starts as starts_module
from multilogger.components.learners.loss_models.additive import base_rates
from multilogger.components.learners.loss_models.additive_rows import ContextMoments, GroupedRows
from multilogger.components.learners.loss_models.blend import blend_weights
from multilogger.components.learners.loss_models.settings import (
    MOST_WORK,
    AdditiveSettings,
    FitSize,
    Race,
    Start,
)
from multilogger.components.learners.loss_models.starts import (
    PLANS,
    Plan,
    StartingPoint,
    common_scale,
    linear_logits,
    plans_of,
)
from multilogger.components.learners.presets import preset
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import Standardisation, load_policy
from tests.components.conftest import make_training_log
from tests.components.every_setting import EverySetting, learn
from tests.components.learners.test_resume import check_resume


def around(x: Matrix, logits: Matrix | None) -> StartingPoint:
    labels = 3 if logits is None else logits.shape[1]
    return StartingPoint(Standardisation.fit(x.astype(np.float32)), Labels(labels).torch, logits)


def test_rates_are_those_of_the_labels(log: TrainingLog, streamed: StreamedLog) -> None:
    assert log.truth is not None
    rates = base_rates(GroupedRows(log.part(validation=False)).sums())
    np.testing.assert_allclose(rates, log.truth.mean(axis=0), atol=0.1)
    torch.testing.assert_close(rates, base_rates(ContextMoments(streamed).sums()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "features"), [(60, 20), (30, 90)])
def test_a_regularised_linear_logger_is_found_again(rows: int, features: int) -> None:
    """Also at contexts that the log does not have, and where it has fewer of them than features."""
    rng = np.random.default_rng(3)
    scales = 10.0 ** rng.uniform(-2, 2, features)
    x, new = (rng.normal(size=(n, features)) * scales + scales for n in (rows, 40))
    y = x[:, 0] > scales[0]
    ones = [np.hstack([one, np.ones((len(one), 1))]) for one in (x, new)]
    model = LogisticRegression(C=0.1, fit_intercept=False, max_iter=5000, tol=1e-10).fit(ones[0], y)
    logits, wanted = (one @ model.coef_.T for one in ones)
    near = around(x, logits)
    found = linear_logits(near.standardisation(x.astype(np.float32)), near)
    assert found is not None
    got = near.standardisation(new.astype(np.float32)) @ found.slope.T + found.level
    np.testing.assert_allclose(got.numpy(), wanted, atol=0.02 * np.abs(wanted).max())


def test_common_scale_keeps_the_scales_of_inputs() -> None:
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(size=(500, 3)) * [1.0, 2.0, 4.0], np.full((500, 1), 7.0)])
    near = around(x, None)
    z = near.standardisation(x.astype(np.float32))
    scaled = z * common_scale(z, near.standardisation)
    spread = scaled.std(dim=0)
    np.testing.assert_allclose(spread[1:3] / spread[0], x.std(axis=0)[1:3] / x.std(axis=0)[0], rtol=1e-3)
    assert float(scaled.square().mean()) == pytest.approx(1.0, rel=1e-2)
    assert float(spread[3]) == 0.0


def test_without_a_known_logger_the_rates_are_left() -> None:
    x = np.eye(4)
    known, unknown = around(x, np.zeros((4, 3))), around(x, None)
    assert plans_of(Start.BLEND, known) == PLANS
    assert {plan.start for plan in plans_of(Start.BLEND, unknown)} == {Start.RATES}
    assert plans_of(Start.COPY, unknown) == (Plan(Start.RATES),)
    assert plans_of(Start.ADD, known) == (Plan(Start.ADD),)


def test_a_blend_takes_what_errs_otherwise() -> None:
    truth = np.array([[0.5, 0.5]])
    tables = [truth + 0.2, truth - 0.2, truth + 0.4]

    def score(p: Matrix) -> float:
        return float(np.square(p - truth).sum())

    np.testing.assert_array_equal(blend_weights(tables, score), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(blend_weights([truth, tables[0]], score), [1.0, 0.0])


@pytest.fixture
def blended(quick: EverySetting) -> EverySetting:
    return replace(quick, start=Start.BLEND, fit_all=True, epochs=4, model_epochs=3, patience=2)


@pytest.mark.parametrize("method", ["additive", "dr"])
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_blend_is_no_worse_than_its_parts_and_acts_without_the_log(
    method: str, place: str, log: TrainingLog, streamed: StreamedLog, blended: EverySetting, tmp_path: Path
) -> None:
    source: LearnerLog = log if place == "memory" else streamed
    starts = (Start.BLEND, Start.BEST)
    mixed, best = (learn(method, source, replace(blended, start=start), 0) for start in starts)
    if method == "additive":
        assert mixed.best.validation_score <= best.best.validation_score
        assert min(one.score for one in best.starts) == pytest.approx(best.best.validation_score)
        assert [one.start for one in mixed.starts] == [plan.name for plan in PLANS]
        assert sum(one.weight for one in mixed.starts) == pytest.approx(1.0)
        assert sorted(one.weight for one in best.starts) == [0.0] * (len(PLANS) - 1) + [1.0]
    mixed.policy.save(tmp_path)
    back = load_policy(tmp_path)
    new = np.random.default_rng(1).normal(size=(7, log.features)).astype(np.float32)
    np.testing.assert_array_equal(back.logits(new), mixed.policy.logits(new))


@pytest.mark.parametrize("method", ["additive", "dr"])
def test_a_killed_blend_ends_with_the_same_bits(
    method: str, log: TrainingLog, blended: EverySetting, tmp_path: Path
) -> None:
    check_resume(method, log, replace(blended, checkpoint_every=2, patience=9), tmp_path, stop=3)


def test_one_of_actions_have_blends_too(tmp_path: Path) -> None:
    """Under `auto` the default takes several starts there as well, and what it makes of them can be saved."""
    usual = preset("auto", "my-own-files", "dm", "one-of")
    assert isinstance(usual, DmSettings)
    assert (usual.start, usual.epochs_for(1000), usual.epochs_for(100_000)) == (Start.BLEND, 105, 5)
    log = make_training_log(contexts=60, actions="one-of")
    settings = replace(usual, epochs=6, hidden=(8,), folds=2)
    learned = learning.learn("dm", log, settings, 0)
    assert [one.start for one in learned.starts] == [plan.name for plan in PLANS]
    assert learned.best.validation_score <= min(one.score for one in learned.starts) + 1e-6
    learned.policy.save(tmp_path)
    np.testing.assert_array_equal(load_policy(tmp_path).logits(log.x), learned.policy.logits(log.x))


def test_data_that_is_too_large_for_several_starts_has_one(
    log: TrainingLog, blended: EverySetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MOST_CHANCES", "MOST_INPUTS"):
        with monkeypatch.context() as patched:
            patched.setattr(starts_module, limit, 10)
            assert len(learn("additive", log, blended, 0).starts) == 1
    assert len(learn("additive", log, blended, 0).starts) == len(PLANS)


def test_starts_race_where_all_of_them_would_be_too_much_work() -> None:
    """Registered sets have all starts to the end; large networks on many contexts do not, and end in time."""
    usual = AdditiveSettings(hidden=(256,), context_batch=0, epochs=0)

    def race(*size: float) -> Race:
        found = FitSize(int(size[0]), int(size[1]), int(size[2]), 8.0)
        return usual.resolved(found.contexts).race(found, len(PLANS))

    enron, tmc500, yeast = race(1123, 1001, 53), race(21519, 500, 22), race(1500, 103, 14)
    assert (enron, tmc500, yeast) == (Race(50, 50, 5), Race(20, 20, 5), Race(50, 50, 5))
    assert race(4880, 1836, 159) == Race(50, 10, 2)
    assert race(4880, 20000, 159) == Race(10, 2, 2)
    for contexts, features, labels in ((4500, 4900, 400), (9000, 500, 983), (40000, 120, 100)):
        size = FitSize(contexts, features, labels, 8.0)
        epochs, first, kept = race(*size[:3])
        work = replace(usual, epochs=1).work(size) * (5 * first + kept * (epochs - first))
        assert work <= 1.5 * MOST_WORK or epochs == 10


@pytest.mark.parametrize("method", ["additive", "dr"])
def test_a_race_leaves_the_worst_starts_behind_and_resumes(
    method: str, log: TrainingLog, blended: EverySetting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_module, "MOST_WORK", 1.0)
    check_resume(method, log, replace(blended, checkpoint_every=2, patience=9), tmp_path, stop=3)
    found = learn("additive", log, replace(blended, patience=9), 0)
    went_on = {one.start for one in found.starts if one.epoch > 1}
    assert 1 <= len(went_on) <= 2
    ranked = [one.start for one in sorted(found.starts, key=lambda one: one.score)]
    assert went_on <= set(ranked[:2])


def test_adding_to_a_logger_begins_at_the_logger(log: TrainingLog, quick: EverySetting) -> None:
    """A model that learns next to nothing acts as the best logger's most likely labels."""
    settings = replace(quick, start=Start.ADD, epochs=1, risk_rate=1e-9)
    learned = learn("additive", log, settings, 0).policy.logits(log.x) > 0
    means = [log.delta[log.logger == j].mean() for j in range(log.loggers)]
    best = log.logger_logits[int(np.argmin(means))]
    sure = np.abs(best) > 0.05
    np.testing.assert_array_equal(learned[sure], (best > 0)[sure])


def test_the_limit_is_the_same_networks_on_the_true_labels(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    """It is chosen by held-out squared error of the labels, and acts without the log."""
    assert log.truth is not None
    settings = replace(quick, ensemble=True, epochs=8, batch_norm=False)
    learned = learn("full-information", log, settings, 0)
    assert learned.blind_chances is not None
    brier = float(np.square(learned.blind_chances - log.truth).sum(axis=1).mean())
    assert learned.best.validation_score == pytest.approx(brier, rel=1e-5)
    assert brier < float(np.square(log.truth.mean(axis=0) - log.truth).sum(axis=1).mean())
    learned.policy.save(tmp_path)
    np.testing.assert_array_equal(load_policy(tmp_path).logits(log.x), learned.policy.logits(log.x))
