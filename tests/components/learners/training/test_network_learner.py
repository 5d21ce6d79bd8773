from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit, rel_entr

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import log_probability
from multilogger.components.learners.training import network_learner
from multilogger.components.learners.training.measure import Measure
from multilogger.components.learners.training.network_learner import (
    COPY_STEPS,
    clone_best_logger,
    open_measure,
    warm_start_of,
)
from multilogger.components.learners.training.objectives import NAIVE, WEIGHTED, rules_of
from multilogger.components.learners.training.row_measures import MemoryMeasure, StreamedMeasure
from multilogger.components.learners.wcrm import wcrm
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog, densify
from multilogger.components.log.reading import open_streamed_log
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, network_logits
from multilogger.components.policies.policy import load_policy
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn
from tests.components.learners.test_reads import outcome
from tests.components.learners.test_resume import check_resume

BEST = 1  # the fair logger of the small problem; the other one is nearly uniform
CLONING = ("naive", "weighted", "balanced", "weighted-reg", "weighted-exact", "wcrm")
EVERY_ACTION = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T


@pytest.fixture(scope="module")
def streamed(
    log: TrainingLog, write_log: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> StreamedLog:
    """In fewer row groups than elsewhere: a warm start reads them a hundred times."""
    folder = write_log(log, tmp_path_factory.mktemp("log"), group_rows=150)
    return open_streamed_log(folder, log.x, log.logger_logits, log.truth)


def cloned(log: TrainingLog, passes: int) -> Matrix:
    """Logits on all contexts of a linear policy after a warm start alone."""
    generator = torch.Generator().manual_seed(0)
    network = PolicyNetwork(log.features, log.space.size, NetworkSize((), batch_norm=False), generator)
    x = torch.from_numpy(densify(log.x))
    settings = EverySetting(warm_start=passes, warm_start_rate=0.03)
    clone_best_logger(network, x, MemoryMeasure(log, NAIVE, settings.rules), settings, generator)
    return network_logits(network, x)


def divergence(log: TrainingLog, logits: Matrix) -> float:
    """KL(h_best || h), by enumeration of all actions at all contexts."""
    own = np.exp(
        [log_probability(log.logger_logits[BEST], np.tile(y, (log.contexts, 1))) for y in EVERY_ACTION]
    )
    copy = np.exp([log_probability(logits, np.tile(y, (log.contexts, 1))) for y in EVERY_ACTION])
    return float(rel_entr(own, copy).sum(axis=0).mean())


def test_clone_approaches_the_best_logger(log: TrainingLog) -> None:
    start, early, late = (divergence(log, cloned(log, passes)) for passes in (0, 10, 300))
    assert late < 1e-3 < early < start
    np.testing.assert_allclose(expit(cloned(log, 300)), expit(log.logger_logits[BEST]), atol=0.02)


def test_clone_of_an_unknown_logger_is_its_maximum_likelihood(log: TrainingLog) -> None:
    """Without features that vary, that is the frequency of each label in the logger's training rows."""
    blind = replace(log, x=np.ones_like(log.x), logger_logits=())
    own = (log.logger == BEST) & ~log.validation
    expected = log.action[own].mean(axis=0)
    np.testing.assert_allclose(expit(cloned(blind, 300))[0], expected, atol=1e-3)


@pytest.mark.parametrize("on_disk", [True, False])
def test_examples_are_training_rows_of_one_logger(
    log: TrainingLog, streamed: StreamedLog, on_disk: bool
) -> None:
    rules = EverySetting().rules
    measure: Measure = (
        StreamedMeasure(streamed, NAIVE, rules) if on_disk else MemoryMeasure(log, NAIVE, rules)
    )
    own = (log.logger == BEST) & ~log.validation
    np.testing.assert_array_equal(measure.contexts_of(BEST), np.unique(log.context[own]))
    batches = list(measure.logged_actions(BEST, 16, torch.Generator().manual_seed(0)))
    assert len(batches) > 1
    shown = [torch.cat([context[:, None], action], 1).tolist() for context, action in batches]
    expected = np.column_stack([log.context[own], log.action[own]])
    assert sorted(row for batch in shown for row in batch) == sorted(expected.tolist())


@pytest.mark.parametrize("method", CLONING)
def test_first_record_is_of_the_clone(method: str, log: TrainingLog, quick: EverySetting) -> None:
    """A copy has weights of about 1 on the rows of its logger; a wcrm point that may not move is one too."""
    settings = replace(quick, batch_norm=False, hidden=(), warm_start=300, warm_start_rate=0.03, epochs=2)
    if method == "wcrm":
        settings = replace(settings, wcrm_rounds=1, wcrm_l2s=(0.0,), wcrm_iterations=1)
    records = learn(method, log, settings, 0).records
    assert len(records) == (2 if method == "wcrm" else 3)
    assert records[0].effective_share[BEST] > (0.8 if method == "wcrm" else 0.99)


@pytest.mark.parametrize("method", CLONING)
def test_resumed_run_equals_the_unbroken_one(
    method: str, log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    settings = replace(quick, warm_start=20, epochs=3, checkpoint_every=1)
    for stop in (1, 3):
        check_resume(method, log, settings, tmp_path / str(stop), stop)


@pytest.mark.parametrize("method", ["naive", "weighted-exact", "wcrm"])
def test_resumed_run_from_disk_equals_the_unbroken_one(
    method: str, streamed: StreamedLog, quick: EverySetting, tmp_path: Path
) -> None:
    settings = replace(quick, warm_start=5, epochs=3, checkpoint_every=1)
    settings = replace(settings, wcrm_clips=(10.0,), wcrm_rounds=1, wcrm_iterations=5)
    check_resume(method, streamed, settings, tmp_path, 1)


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_planned_epochs_are_those_that_are_made(method: str, log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, epochs=3, patience=1000, model_epochs=2, wcrm_rounds=1, wcrm_iterations=2)
    assert len(learn(method, log, settings, 0).records) == settings.of(method).planned_epochs


def test_files_of_a_policy_say_whether_it_had_a_warm_start(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    for passes in (0, 2):
        learn("naive", log, replace(quick, epochs=1, warm_start=passes), 0).policy.save(tmp_path)
        assert f'"warm_start": {passes},' in (tmp_path / "policy.json").read_text()
        assert load_policy(tmp_path).settings["warm_start"] == passes


def test_files_of_a_method_without_warm_starts_do_not_speak_of_one(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    learn("additive", log, replace(quick, epochs=1, warm_start=2), 0).policy.save(tmp_path)
    assert "warm_start" not in (tmp_path / "policy.json").read_text()
    assert "warm_start" not in load_policy(tmp_path).settings


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_no_warm_start_clones_nothing(
    method: str, log: TrainingLog, quick: EverySetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("cloned without being asked to")

    for module in (network_learner, wcrm):
        monkeypatch.setattr(module, "clone_best_logger", refuse)
    learn(method, log, replace(quick, epochs=2), 0)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("method", ["weighted", "wcrm"])
def test_clone_from_a_log_on_disk_is_as_good(
    method: str, known: bool, log: TrainingLog, streamed: StreamedLog, quick: EverySetting
) -> None:
    settings = replace(quick, batch_norm=False, hidden=(), warm_start=100, warm_start_rate=0.05, epochs=1)
    settings = replace(settings, wcrm_rounds=1, wcrm_l2s=(0.0,), wcrm_iterations=1)
    logits = log.logger_logits if known else ()
    clone = learn(method, replace(streamed, logger_logits=logits), settings, 0).records[0]
    in_memory = learn(method, replace(log, logger_logits=logits), settings, 0).records[0]
    assert clone.effective_share[BEST] == pytest.approx(in_memory.effective_share[BEST], abs=0.01)
    assert clone.effective_share[BEST] > 0.8


def test_the_log_says_whether_to_start_warm(log: TrainingLog, quick: EverySetting) -> None:
    """Warm where one row outweighs all others of the best logger under a uniform start, else not."""
    asked = replace(quick, warm_start=-1, epochs=2)
    cold = replace(asked, warm_start=0)
    assert outcome(learn("weighted", log, asked, 0)) == outcome(learn("weighted", log, cold, 0))
    sharp = log.log_propensities.copy()
    own = np.flatnonzero((log.logger == BEST) & ~log.validation)
    sharp[own, BEST], sharp[own[0], BEST] = -0.1, -12.0
    lopsided = replace(log, log_propensities=sharp)
    measure = open_measure(lopsided, WEIGHTED, rules_of(asked.of("weighted")))
    found = warm_start_of(measure, log.contexts, asked)
    assert found.warm_start == COPY_STEPS
    warm = learn("weighted", lopsided, asked, 0)
    assert len(warm.records) == 3
    assert outcome(warm) == outcome(learn("weighted", lopsided, replace(asked, warm_start=COPY_STEPS), 0))
