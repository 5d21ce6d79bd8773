"""`auto`: it takes the good learner where one is shown, and the best logger where none is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.auto.screening import COPIED
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import load_policy
from tests.components.conftest import make_training_log

QUICK = AutoSettings(
    hidden=(16,), epochs=12, folds=3, start=Start.SCRATCH, hidden_dropout=0.0, risk_rate=1e-2
)


def true_risk(logits: np.ndarray, log: TrainingLog) -> float:
    """The expected loss on the contexts of the log."""
    assert log.truth is not None
    p = log.space.probabilities(logits)
    if log.space.action_shape:
        return float(np.where(log.truth == 1, 1 - p, p).sum(axis=1).mean())
    return float(1 - p[np.arange(len(p)), log.truth].mean())


@pytest.fixture(scope="module", params=["labels", "one-of"])
def found(request: pytest.FixtureRequest) -> tuple[TrainingLog, Learned]:
    log = make_training_log(contexts=300, actions=request.param)
    return log, learn("auto", log, QUICK, 0)


def test_a_good_learner_is_shown_and_returned(found: tuple[TrainingLog, Learned], tmp_path: Path) -> None:
    log, learned = found
    assert learned.verdict is not None
    assert learned.verdict.best_logger == 1
    assert learned.verdict.chosen is not None
    chosen = learned.verdict.comparisons[learned.verdict.chosen]
    assert chosen.shown_by in ("weights", "structure")
    assert learned.notes[0].startswith(f"improvement: {chosen.name} loses ")
    assert learned.doubts == ()
    assert set(dict(learned.verdict.left_out)) == {"dr", "weighted-exact", "balanced-exact", "ls"}
    best = true_risk(log.logger_logits[1], log)
    risk = true_risk(learned.policy.logits(log.x), log)
    assert risk < best - chosen.lower
    assert abs(learned.best.validation_risk - risk) < 6 * chosen.standard_error
    learned.policy.save(tmp_path)
    np.testing.assert_array_equal(load_policy(tmp_path).logits(log.x), learned.policy.logits(log.x))


def test_a_policy_that_must_not_be_trusted_is_not_returned(tmp_path: Path) -> None:
    """Losses that no action has a say in: nothing is shown, and the best logger comes back, itself."""
    log = make_training_log(contexts=120)
    noise = np.random.default_rng(0).integers(0, 4, size=log.rows).astype(np.float64)
    learned = learn("auto", replace(log, delta=noise), QUICK, 0)
    assert learned.verdict is not None
    assert learned.verdict.chosen is None
    name = f"logger-{learned.verdict.best_logger + 1}"
    assert (
        learned.notes[0] == f"improvement: none shown at 95%; the policy is that of {name}, the best logger"
    )
    logits = log.logger_logits[learned.verdict.best_logger]
    np.testing.assert_allclose(learned.policy.logits(log.x), logits, atol=1e-4)
    learned.policy.save(tmp_path)
    np.testing.assert_allclose(load_policy(tmp_path).logits(log.x), logits, atol=1e-4)


def test_without_the_loggers_policies_a_copy_stands_for_the_best(log: TrainingLog) -> None:
    noise = np.random.default_rng(0).integers(0, 4, size=log.rows).astype(np.float64)
    learned = learn("auto", replace(log, delta=noise, logger_logits=()), QUICK, 0)
    assert learned.verdict is not None
    assert learned.verdict.chosen is None
    assert "what acts as it is a copy, learned from what it did" in learned.notes[-1]
    name = f"logger-{learned.verdict.best_logger + 1}"
    reason = "the loggers' policies are not known"
    assert {f"{name}, sharper": reason, f"{name}, greedy": reason}.items() <= dict(
        learned.verdict.left_out
    ).items()


def test_a_logger_that_can_only_be_copied_has_no_sharper_versions(log: TrainingLog) -> None:
    """They would be judged at contexts that the copy has seen."""
    curved = tuple(np.where(logits > 0, 3.0, -3.0) for logits in log.logger_logits)
    known = replace(log, logger_logits=curved)
    learned = learn("auto", known, replace(QUICK, epochs=1, contest=False), 0)
    assert learned.verdict is not None
    assert [one.name for one in learned.verdict.comparisons] == ["additive"]
    assert set(dict(learned.verdict.left_out).values()) == {"not asked for", COPIED}


def test_weights_alone_are_harder_to_convince(found: tuple[TrainingLog, Learned]) -> None:
    log, any_kind = found
    learned = learn("auto", log, replace(QUICK, evidence=Evidence.WEIGHTS, contest=False), 0)
    assert learned.verdict is not None
    assert any_kind.verdict is not None
    for one, other in zip(learned.verdict.comparisons, any_kind.verdict.comparisons, strict=True):
        assert one.by_structure == -np.inf
        assert one.by_weights >= other.by_weights  # all of the chance to fail is for weights
        assert one.lower <= max(other.lower, one.by_weights)
