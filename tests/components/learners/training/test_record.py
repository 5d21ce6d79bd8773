from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.estimators.divergences import exact_divergence
from multilogger.components.estimators.weights import SELF_NORMALISED
from multilogger.components.learners.training.objectives import NAIVE
from multilogger.components.learners.training.record import EpochRecord, better
from multilogger.components.learners.training.row_measures import MemoryMeasure
from multilogger.components.log.memory import TrainingLog
from tests.components.estimators.risks import (
    balanced_risk,
)
from tests.components.every_setting import EverySetting

SHARES = np.array([4 / 7, 3 / 7])


def record_of(log: TrainingLog, logits: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> EpochRecord:
    measure = MemoryMeasure(log, NAIVE, EverySetting(kappa=2.0).rules)
    return measure.record(1, measure.snapshot(logits), SHARES)


def test_a_logger_judged_by_its_own_log(log: TrainingLog) -> None:
    record = record_of(log, log.logger_logits[1])
    assert record.eligible
    assert record.mean_weight[1] == pytest.approx(1.0)
    assert record.effective_share[1] == pytest.approx(1.0)
    assert record.largest_weight[1] == pytest.approx(1.0)
    assert record.log_d2[1] == pytest.approx(0.0, abs=1e-9)
    d_f = exact_divergence(log.space, log.logger_logits[1], log.logger_logits[0]).d_f
    assert record.constraint == pytest.approx(4 / 7 * d_f, rel=0.01)
    assert record.slack == pytest.approx(2.0 - record.constraint)


def test_validation_risk_is_the_self_normalised_balanced_one(log: TrainingLog) -> None:
    logits = 2.0 * log.logger_logits[1]
    expected = balanced_risk(log.part(validation=True).under(logits), SELF_NORMALISED)
    record = record_of(log, logits)
    assert record.validation_risk == expected.value
    assert record.validation_score == expected.value + expected.standard_error


def test_guard_refuses_a_policy_off_the_logs(log: TrainingLog) -> None:
    """A policy that does the opposite of what was logged in nearly every context has a mean weight near 0."""
    part = log.part(validation=True)
    opposite = np.zeros((log.contexts, 3))
    np.add.at(opposite, part.context, 1.0 - 2.0 * part.action)
    assert record_of(log, log.logger_logits[1]).eligible
    assert not record_of(log, 20.0 * np.sign(opposite)).eligible


def test_better_asks_the_guard_first(log: TrainingLog) -> None:
    record = record_of(log, log.logger_logits[1])
    lower = replace(record, validation_score=record.validation_score - 1.0)
    assert better(record, None)
    assert better(lower, record)
    assert not better(record, record)
    assert not better(replace(lower, eligible=False), record)
    assert better(record, replace(lower, eligible=False))


def test_flat_metrics(log: TrainingLog) -> None:
    metrics = record_of(log, log.logger_logits[0]).metrics()
    assert metrics["share/0"] == pytest.approx(4 / 7)
    assert metrics["eligible"] == 1.0
    assert all(isinstance(value, float) for value in metrics.values())


def test_runaway_policy_is_measured_and_not_an_error(log: TrainingLog) -> None:
    record = record_of(log, np.full((log.contexts, 3), 1e4))
    assert np.isfinite(record.validation_risk)
