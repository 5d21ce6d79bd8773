"""Methods that are judged by an estimate of their own: it is that of `estimators`, in memory and on disk."""

from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.estimators.smoothing import ls_sums
from multilogger.components.learners.additive_ips.method import Family
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from tests.components.estimators.risks import (
    LabelRows,
    additive_balanced_risk,
    additive_naive_risk,
    additive_weighted_risk,
    ix_sums,
)
from tests.components.every_setting import EverySetting, learn

ADDITIVE_RISKS = {
    Family.NAIVE: additive_naive_risk,
    Family.WEIGHTED: additive_weighted_risk,
    Family.BALANCED: additive_balanced_risk,
}


@pytest.fixture
def once(quick: EverySetting) -> EverySetting:
    return replace(quick, epochs=1, smoothing=7.0, gamma=0.02, risk_rate=0.1)


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("method", ["ls", "ix"])
def test_smoothed_risk_is_the_estimate(
    method: str, place: str, log: TrainingLog, streamed: StreamedLog, once: EverySetting
) -> None:
    learned = learn(method, log if place == "memory" else streamed, once, 0)
    largest = float(log.delta[~log.validation].max())
    for validation, told in zip((False, True), both_risks(learned.records[-1]), strict=True):
        part = log.part(validation)
        logits = learned.policy.logits(log.x)[part.context]
        target = log.space.log_probability(logits, part.action)
        rewards = (1.0 - part.delta / largest).clip(0.0, 1.0)
        if method == "ls":
            sums = ls_sums(np.exp(target - part.log_average) * rewards, 7.0)
        else:
            sums = ix_sums(target, part.log_average, rewards, 0.02)
        assert told == pytest.approx(largest * (1.0 - sums.value), rel=1e-6)


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("family", Family)
def test_additive_risk_is_the_estimate(
    family: Family, place: str, log: TrainingLog, streamed: StreamedLog, once: EverySetting
) -> None:
    """Of losses less their mean, as the weights have the mean 1; the shares of loggers are the epoch's."""
    learned = learn("additive-ips", log if place == "memory" else streamed, replace(once, family=family), 0)
    train = log.part(validation=False)
    centre = np.mean([train.delta[train.logger == j].mean() for j in range(log.loggers)])
    risks = [ADDITIVE_RISKS[family], additive_balanced_risk]
    for validation, told in zip((False, True), both_risks(learned.records[-1]), strict=True):
        part = log.part(validation)
        rows = LabelRows(part.context, part.logger, part.action, part.delta - centre, part.counts)
        known = risks[validation](rows, learned.policy.logits(log.x), log.logger_logits).value + centre
        # Loggers were weighed at the policy that the epoch began with.
        tolerance = 0.05 if family is Family.WEIGHTED and not validation else 1e-6
        assert told == pytest.approx(known, rel=tolerance)


def test_no_rows_of_weight_make_an_epoch_ineligible(log: TrainingLog, once: EverySetting) -> None:
    strict = replace(once, least_effective_rows=1e6)
    assert not learn("balanced", log, strict, 0).records[-1].eligible
    assert learn("ls", log, strict, 0).records[-1].eligible


def test_additive_weights_need_the_policies_of_loggers(log: TrainingLog, once: EverySetting) -> None:
    with pytest.raises(BadInput, match="additive-ips needs"):
        learn("additive-ips", replace(log, logger_logits=()), once, 0)


def both_risks(record: EpochRecord) -> tuple[float, float]:
    return record.train_risk, record.validation_risk
