"""Direct learning: what an epoch is, and which epochs may be chosen."""

from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.training.objectives import NAIVE
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import EverySetting, learn


@pytest.mark.parametrize("method", ["naive", "naive-reg"])
def test_passes_of_one_epoch_are_epochs_without_validation(
    log: TrainingLog, quick: EverySetting, method: str
) -> None:
    """Naive has no lambda* that an epoch would bring up to date."""
    few, many = (
        learn(method, log, replace(quick, epochs=epochs, passes_per_epoch=4 // epochs, patience=9), 0)
        for epochs in (2, 4)
    )
    assert [record.epoch for record in few.records] == [1, 2]
    assert few.records[-1].train_risk == many.records[-1].train_risk
    assert few.records[0].log_d2 == many.records[1].log_d2


def test_estimate_of_few_effective_rows_chooses_nothing(log: TrainingLog, quick: EverySetting) -> None:
    learner = DirectLearner(log, NAIVE, quick, seed=0)
    learner.run_epoch()
    snapshot = learner.snapshot()
    rows = max(spread.effective_rows for spread in snapshot.validation_weights())
    counts = log.part(validation=True).counts
    assert 10 < rows < counts.max()
    for least, eligible in ((0.0, True), (rows - 1e-6, True), (rows + 1e-6, False)):
        learner.measure.rules = replace(quick, least_effective_rows=least).rules
        assert learner.measure.eligible(snapshot) is eligible


def test_effective_rows_of_equal_weights_are_all_rows(log: TrainingLog, quick: EverySetting) -> None:
    """A logger's own policy has weights of 1 on its rows."""
    snapshot = DirectLearner(log, NAIVE, quick, seed=0).measure.snapshot(log.logger_logits[0])
    spread = snapshot.validation_weights()[0]
    assert spread.effective_rows == pytest.approx(log.part(validation=True).counts[0])
    np.testing.assert_allclose([spread.mean, spread.largest], 1.0)
