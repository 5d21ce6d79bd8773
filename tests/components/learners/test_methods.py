import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.errors import BadInput
from multilogger.components.learners import learn as learning
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import RiskSettings
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_method_beats_both_loggers_on_contexts_it_has_not_seen(
    method: str, log: TrainingLog, make_log: Callable[..., TrainingLog], quick: EverySetting
) -> None:
    learned = learn(method, log, replace(quick, epochs=20, patience=20), seed=0)
    fresh = make_log(contexts=2000, passes=(1, 1), seed=6)
    assert fresh.truth is not None
    risk = expected_hamming(learned.policy.logits(fresh.x), fresh.truth).mean()
    loggers = [expected_hamming(table, fresh.truth).mean() for table in fresh.logger_logits]
    assert risk < min(loggers) - 0.1
    assert risk < 0.6 * max(loggers)


def test_seed_decides_everything(log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, epochs=3)
    one, same, other = (learn("weighted-reg", log, settings, seed).policy.logits(log.x) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3


def test_best_epoch_is_restored_and_patience_ends_the_run(log: TrainingLog, quick: EverySetting) -> None:
    heard: list[EpochRecord] = []
    settings = replace(quick, epochs=200, patience=5, risk_rate=0.03)
    learned = learn("naive", log, settings, 0, heard.append)
    assert repr(tuple(heard)) == repr(learned.records)
    assert len(heard) == learned.best.epoch + 5
    eligible = [record for record in heard if record.eligible]
    assert learned.best.validation_score == min(record.validation_score for record in eligible)
    kept = learn("naive", log, replace(settings, epochs=learned.best.epoch), 0)
    np.testing.assert_array_equal(kept.policy.logits(log.x), learned.policy.logits(log.x))


def test_lambda_is_recomputed_each_epoch(log: TrainingLog, quick: EverySetting) -> None:
    shares = [record.share for record in learn("weighted", log, quick, 0).records]
    assert len(set(shares)) == len(shares)
    assert all(sum(share) == pytest.approx(1.0) for share in shares)
    floored = learn("weighted", log, replace(quick, lambda_floor=0.45), 0).records
    assert all(min(record.share) >= 0.45 - 1e-9 for record in floored)


def test_unknown_method(log: TrainingLog) -> None:
    message = f"unknown method 'best'; choose one of {', '.join(METHODS)}"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        learning.learn("best", log, RiskSettings(), 0)


def test_full_information_needs_the_truth(log: TrainingLog, quick: EverySetting) -> None:
    with pytest.raises(BadInput, match="full-information needs the true labels"):
        learn("full-information", replace(log, truth=None), quick, 0)


def test_bandit_methods_do_not_need_the_truth(log: TrainingLog, quick: EverySetting) -> None:
    with_truth, without = (
        learn("weighted", replace(log, truth=truth), replace(quick, epochs=2), 0).policy.logits(log.x)
        for truth in (log.truth, None)
    )
    np.testing.assert_array_equal(with_truth, without)
