"""Every method that chooses one of K actions, on a small log in memory and on disk."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.datasets.losses import ZERO_ONE
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import average_divergence, exact_divergence
from multilogger.components.learners.exact.exact import ExactLearner
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.objectives import OBJECTIVES
from multilogger.components.learners.training.settings import settings_about
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from multilogger.components.policies.policy import load_policy
from tests.components.conftest import make_training_log, write_training_log
from tests.components.every_setting import ONE_OF_METHODS, EverySetting, learn
from tests.components.learners.test_reads import SHOWS, another, outcome
from tests.components.learners.test_resume import check_resume


@pytest.fixture(scope="module")
def log() -> TrainingLog:
    return make_training_log(actions="one-of")


@pytest.fixture(scope="module")
def streamed(log: TrainingLog, tmp_path_factory: pytest.TempPathFactory) -> StreamedLog:
    folder = write_training_log(log, tmp_path_factory.mktemp("log"), group_rows=200)
    return open_streamed_log(folder, log.x, log.logger_logits, log.truth)


@pytest.fixture
def quick(quick: EverySetting) -> EverySetting:
    return replace(quick, loss=ZERO_ONE.name)


@pytest.mark.parametrize("method", ONE_OF_METHODS)
def test_method_beats_both_loggers_on_contexts_it_has_not_seen(
    method: str, log: TrainingLog, quick: EverySetting
) -> None:
    learned = learn(method, log, replace(quick, epochs=20, patience=20), seed=0)
    fresh = make_training_log(contexts=2000, passes=(1, 1), seed=6, actions="one-of")
    assert fresh.truth is not None
    risk = ZERO_ONE.expected(learned.policy.logits(fresh.x), fresh.truth).mean()
    loggers = [ZERO_ONE.expected(table, fresh.truth).mean() for table in fresh.logger_logits]
    assert risk < min(loggers) - 0.05


@pytest.mark.parametrize("method", ONE_OF_METHODS)
def test_resumed_run_equals_the_unbroken_one(
    method: str, log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    check_resume(method, log, replace(quick, epochs=4, checkpoint_every=2), tmp_path, stop=3)


@pytest.mark.parametrize("method", ONE_OF_METHODS)
def test_seed_decides_the_bits_of_a_log_on_disk(
    method: str, streamed: StreamedLog, quick: EverySetting
) -> None:
    settings = replace(
        quick, memory_rows=200, batch_size=32, epochs=1, model_epochs=1, wcrm_clips=(10.0,), wcrm_l2s=(0.1,)
    )
    first, second, other = (outcome(learn(method, streamed, settings, seed)) for seed in (0, 0, 1))
    assert first == second
    assert method == "wcrm" or first != other


def test_loss_model_on_disk_is_that_in_memory(
    log: TrainingLog, streamed: StreamedLog, quick: EverySetting
) -> None:
    memory, disk = (learn("dm", source, quick, 0).policy.logits(log.x) for source in (log, streamed))
    np.testing.assert_allclose(memory, disk, atol=1e-4)


@pytest.mark.parametrize("name", sorted(settings_about(METHODS["dm"].settings)))
def test_loss_model_depends_on_every_setting_that_it_reads(
    name: str, log: TrainingLog, quick: EverySetting
) -> None:
    shows = {"patience": {"epochs": 12, "patience": 1, "risk_rate": 3.0}}
    settings = replace(quick, **({"epochs": 3} | SHOWS.get(name, {}) | shows.get(name, {})))
    other = replace(settings, **{name: another(name, getattr(settings, name))})
    same = outcome(learn("dm", log, settings, 0)) == outcome(learn("dm", log, other, 0))
    keyed = settings_about(METHODS["dm"].settings)[name].keyed
    assert same is not (keyed and name != "memory_rows")


def test_policy_is_saved_with_its_actions(log: TrainingLog, quick: EverySetting, tmp_path: Path) -> None:
    for method in ("weighted", "dm"):
        policy = learn(method, log, replace(quick, epochs=2), 0).policy
        policy.save(tmp_path)
        back = load_policy(tmp_path)
        assert (back.space.name, back.space.size) == ("one-of", 3)
        np.testing.assert_array_equal(back.logits(log.x), policy.logits(log.x))


def test_constraint_of_balanced_methods_is_exact(log: TrainingLog, quick: EverySetting) -> None:
    """h_avg is itself a choice among K, so its divergence needs no bound."""
    learner = ExactLearner(log, OBJECTIVES["balanced"], quick.exact(), 0)
    snapshot = learner.snapshot()
    exact = average_divergence(log.space, snapshot.logits, log.logger_logits, learner.measure.counts)
    assert snapshot.log_constraint(learner.shares) == pytest.approx(exact.log_d2, abs=1e-9)
    moments = [exact_divergence(log.space, snapshot.logits, table).log_d2 for table in log.logger_logits]
    np.testing.assert_allclose(snapshot.log_d2, moments)


def test_methods_of_another_space_are_refused(log: TrainingLog, quick: EverySetting) -> None:
    message = "additive is for actions of the kind labels, the log has one-of; take dr, or another method"
    with pytest.raises(BadInput, match=message):
        learn("additive", log, quick, 0)
    labels = make_training_log()
    with pytest.raises(BadInput, match="dm is for actions of the kind one-of, the log has labels"):
        learn("dm", labels, quick, 0)


def test_every_setting_knows_those_of_the_loss_model() -> None:
    assert {field.name for field in fields(METHODS["dm"].settings)} <= {f.name for f in fields(EverySetting)}
