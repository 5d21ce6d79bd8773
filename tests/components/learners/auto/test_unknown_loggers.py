"""`auto` on logs of one's own: propensities, but no policies of loggers."""

from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.actions.space import find_space
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.judging.judge import judge
from multilogger.components.learners.judging.verdict import decide
from multilogger.components.learners.learn import learn
from multilogger.components.learners.loss_models.form import FORMS, FoldedModel
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.log.memory import TrainingLog, densify
from tests.components.conftest import make_training_log

QUICK = AutoSettings(hidden=(16,), epochs=8, folds=3, start=Start.RATES, risk_rate=1e-2, contest=False)


def uniform_log(seed: int, rows: int, features: int, choices: int = 4) -> TrainingLog:
    """One uniform logger whose actions have no say in the loss."""
    rng = np.random.default_rng(seed)
    return TrainingLog(
        x=rng.normal(size=(rows, features)).astype(np.float32),
        context=np.arange(rows),
        action=rng.integers(0, choices, rows),
        delta=(rng.random(rows) < 0.6).astype(np.float64),
        log_propensities=np.full((rows, 1), -np.log(choices)),
        logger=np.zeros(rows, dtype=np.int64),
        validation=rng.random(rows) < 0.25,
        space=find_space("one-of", choices),
    )


@pytest.mark.parametrize("evidence", list(Evidence))
def test_noise_shows_no_improvement(evidence: Evidence) -> None:
    """A copy of the logger that has learned its actions by heart would look better on the same actions."""
    for seed in range(3):
        learned = learn("auto", uniform_log(seed, 300, 20), replace(QUICK, evidence=evidence), 0)
        assert learned.verdict is not None
        assert learned.verdict.chosen is None
        assert all(one.lower <= one.improvement for one in learned.verdict.comparisons)


def test_an_action_that_no_logger_tries_earns_nothing() -> None:
    """Loss models guess what they have not seen; who reaches how far is not known without policies."""
    rng = np.random.default_rng(0)
    log = uniform_log(0, 2000, 3)
    first = densify(log.x)[:, 0]
    tried = np.where(first > 0, 3, 4)  # the last action is not tried there
    action = (rng.random(log.rows) * tried).astype(np.int64)
    log = replace(
        log,
        action=action,
        delta=np.where(action == 3, 0.0, 1.0),
        log_propensities=-np.log(tried)[:, None],
    )
    last = np.full((log.contexts, 4), -30.0)
    last[:, 3] = 30.0
    believed = FoldedModel(FORMS["one-of"], np.tile([0.0, 0.0, 0.0, 1.0], (log.contexts, 1)))
    judged = judge(log, believed, [last])
    verdict = decide(["last"], judged, Evidence.ANY, adds=True, confidence=0.95, pessimism=1.0)
    (found,) = verdict.comparisons
    assert found.by_structure == -np.inf
    gain = float((first <= 0).mean()) - float((log.delta == 0).mean())
    assert found.improvement == pytest.approx(gain, abs=0.1)  # as if the other half lost everything
    assert found.by_weights < found.improvement


def test_policies_that_are_estimates_bound_nothing() -> None:
    """Of a logger whose policy is not the one that logged, its own rows say what it earns."""
    log = make_training_log(contexts=200, actions="one-of")
    estimates = tuple(3.0 * logits for logits in log.logger_logits)
    model = FoldedModel(FORMS["one-of"], np.full((200, 3), 0.5))
    exact, guessed = (
        judge(replace(log, logger_logits=one), model, []) for one in (log.logger_logits, estimates)
    )
    for j, (known, other) in enumerate(zip(exact.loggers, guessed.loggers, strict=True)):
        rows = exact.rows.sum()
        assert known.reward.sum() / rows != pytest.approx(other.reward.sum() / rows, abs=1e-9)
        mean_loss = guessed.own_losses[j].sum() / rows
        assert other.reward.sum() / rows == pytest.approx(1.0 - mean_loss, abs=0.02)
        assert (other.reward <= exact.largest[j] + 1e-9).all()
    learned = learn("auto", replace(log, logger_logits=estimates), QUICK, 0)
    assert learned.verdict is not None
