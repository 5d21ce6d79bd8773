"""Every figure of a record from one pass over a log on disk is that of the log in memory."""

from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.estimators.ips import (
    lambda_weighted_risk,
)
from multilogger.components.estimators.weights import SELF_NORMALISED
from multilogger.components.learners.training.objectives import BALANCED, NAIVE, WEIGHTED, Objective
from multilogger.components.learners.training.row_measures import MemoryMeasure, StreamedMeasure, WeightSpread
from multilogger.components.learners.training.settings import LossShift, Weights
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from tests.components.estimators.risks import (
    balanced_risk,
)
from tests.components.every_setting import EverySetting

EXACT = 1e-9
SETTINGS = EverySetting(clip=3.0, kappa=2.0, loss_shift=LossShift.RUNNING)


def policies(log: TrainingLog) -> dict[str, Matrix]:
    rng = np.random.default_rng(2)
    return {
        "near": log.logger_logits[1] + 0.3 * rng.normal(size=(log.contexts, 3)),
        "sharp": 6.0 * log.logger_logits[1],
        "off the logs": 300.0 * rng.normal(size=(log.contexts, 3)),
    }


@pytest.mark.parametrize("weights", [Weights.CLIP, Weights.RAW])
@pytest.mark.parametrize("objective", [NAIVE, WEIGHTED, BALANCED], ids=lambda o: o.name)
@pytest.mark.parametrize("policy", ["near", "sharp", "off the logs"])
def test_record_is_that_of_the_log_in_memory(
    log: TrainingLog, streamed: StreamedLog, objective: Objective, weights: Weights, policy: str
) -> None:
    rules, logits = replace(SETTINGS, weights=weights).rules, policies(log)[policy]
    memory, disk = MemoryMeasure(log, objective, rules), StreamedMeasure(streamed, objective, rules)
    whole, snapshot = memory.snapshot(logits), disk.snapshot(logits)
    shares = whole.shares()
    np.testing.assert_allclose(snapshot.shares(), shares, rtol=EXACT)
    running = (
        balanced_risk(whole.train, SELF_NORMALISED)
        if objective.average
        else lambda_weighted_risk(whole.train, shares / whole.train.counts, SELF_NORMALISED)
    ).value
    assert whole.running_risk(shares) == running
    assert snapshot.running_risk(shares) == pytest.approx(running, rel=EXACT)
    assert disk.loss_shift() == pytest.approx(memory.loss_shift(), rel=EXACT)
    expected, found = memory.record(1, whole, shares).metrics(), disk.record(1, snapshot, shares).metrics()
    assert found == pytest.approx(expected, rel=EXACT, nan_ok=True)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e250])
@pytest.mark.parametrize("chunks", [1, 3, 100])
def test_spread_does_not_depend_on_chunks_or_scale(
    rng: np.random.Generator, scale: float, chunks: int
) -> None:
    weights, spread = rng.exponential(size=100) ** 3, WeightSpread()
    for w in np.array_split(weights, chunks):
        spread = spread.update(scale * w)
    share = weights.sum() ** 2 / (100 * weights @ weights)
    assert spread.figures == pytest.approx((scale * weights.mean(), share, scale * weights.max(), 100))


def test_spread_of_no_weight_is_none() -> None:
    assert WeightSpread().update(np.zeros(4)).figures == (0.0, 0.0, 0.0, 4)
