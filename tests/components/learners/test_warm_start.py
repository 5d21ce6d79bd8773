from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit, rel_entr

from multilogger.components.learners import direct, exact, wcrm
from multilogger.components.learners.epoch_record import Measure
from multilogger.components.learners.learned_policy import network_logits
from multilogger.components.learners.methods import METHODS, learn
from multilogger.components.learners.objectives import NAIVE
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.warm_start import clone_best_logger, examples_of
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Matrix, log_probability
from multilogger.tests.components.learners.test_resume import check_resume

BEST = 1  # the fair logger of the small problem; the other one is nearly uniform
CLONING = ("naive", "weighted", "balanced", "weighted-reg", "weighted-exact", "wcrm")
EVERY_ACTION = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T


def cloned(log: TrainingLog, passes: int) -> Matrix:
    """Logits on all contexts of a linear policy after a warm start alone."""
    generator = torch.Generator().manual_seed(0)
    network = PolicyNetwork(log.features, log.labels, NetworkSize((), batch_norm=False), generator)
    x = torch.from_numpy(log.dense_contexts())
    settings = LearnerSettings(warm_start=passes, warm_start_rate=0.03)
    clone_best_logger(network, x, Measure(log, NAIVE, settings), settings, generator)
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


@pytest.mark.parametrize("known", [True, False])
def test_examples_are_of_the_best_logger_and_of_training_rows_alone(log: TrainingLog, known: bool) -> None:
    part = log.part(validation=False)
    contexts, targets = examples_of(part, Measure(log, NAIVE, LearnerSettings()).loggers if known else None)
    own = (log.logger == BEST) & ~log.validation
    assert set(contexts.tolist()) == set(log.context[own].tolist())
    if known:
        np.testing.assert_allclose(targets, expit(log.logger_logits[BEST][contexts]), atol=1e-6)
    else:
        np.testing.assert_array_equal(targets, log.action[own])


@pytest.mark.parametrize("method", CLONING)
def test_first_record_is_of_the_clone(method: str, log: TrainingLog, quick: LearnerSettings) -> None:
    """A copy has weights of about 1 on the rows of its logger; a wcrm point that may not move is one too."""
    settings = replace(quick, batch_norm=False, hidden=(), warm_start=300, warm_start_rate=0.03, epochs=2)
    if method == "wcrm":
        settings = replace(settings, wcrm_rounds=1, wcrm_l2s=(0.0,), wcrm_iterations=1)
    records = learn(method, log, settings, 0).records
    assert len(records) == (2 if method == "wcrm" else 3)
    assert records[0].effective_share[BEST] > (0.8 if method == "wcrm" else 0.99)


@pytest.mark.parametrize("method", CLONING)
def test_resumed_run_equals_the_unbroken_one(
    method: str, log: TrainingLog, quick: LearnerSettings, tmp_path: Path
) -> None:
    settings = replace(quick, warm_start=20, epochs=5, checkpoint_every=1)
    for stop in (1, 4):
        check_resume(method, log, settings, tmp_path / str(stop), stop)


@pytest.mark.parametrize("method", METHODS)
def test_no_warm_start_clones_nothing(
    method: str, log: TrainingLog, quick: LearnerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("cloned without being asked to")

    for module in (direct, exact, wcrm):
        monkeypatch.setattr(module, "clone_best_logger", refuse)
    learn(method, log, replace(quick, epochs=2), 0)


def test_streamed_learner_clones_the_logged_actions(
    log: TrainingLog, streamed: StreamedLog, quick: LearnerSettings
) -> None:
    settings = replace(quick, batch_norm=False, hidden=(), warm_start=100, warm_start_rate=0.05, epochs=1)
    clone = learn("weighted", streamed, settings, 0).records[0]
    unknown = learn("weighted", replace(log, logger_logits=()), settings, 0).records[0]
    assert clone.effective_share[BEST] == pytest.approx(unknown.effective_share[BEST], abs=0.01)
    assert clone.effective_share[BEST] > 0.95
