"""A mini-batch of all rows from disk gives the risk and the constraint of the log in memory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from multilogger.components.learners.exact.batches import ExactBatch
from multilogger.components.learners.exact.exact import ExactLearner
from multilogger.components.learners.training.objectives import BALANCED, NAIVE, WEIGHTED, Objective
from multilogger.components.learners.training.settings import Weights
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from tests.components.every_setting import EverySetting


@pytest.fixture(scope="module")
def logs(
    make_log: Callable[..., TrainingLog],
    write_log: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[LearnerLog, LearnerLog]:
    """Two loggers with as many rows each, so that one batch holds every row once."""
    log = make_log(passes=(3, 3))
    folder = write_log(log, tmp_path_factory.mktemp("even"))
    return log, open_streamed_log(folder, log.x, log.logger_logits)


def only_batch(learner: ExactLearner) -> ExactBatch:
    (batch,) = learner.rows.epoch()
    return batch


@pytest.mark.parametrize("weights", Weights)
@pytest.mark.parametrize("objective", [NAIVE, WEIGHTED, BALANCED], ids=lambda o: o.name)
def test_risk_of_all_rows(
    logs: tuple[LearnerLog, LearnerLog], quick: EverySetting, objective: Objective, weights: Weights
) -> None:
    settings = replace(quick, batch_size=10**6, batch_norm=False, weights=weights, clip=2.0)
    found = []
    for log in logs:
        learner = ExactLearner(log, objective, settings.exact(), seed=0)
        shift, batch = learner.update_shares(), only_batch(learner)
        # Contexts are drawn from disk with replacement; all of them, once each, stand in their place here.
        if batch.first_judged:
            everyone = torch.cat([batch.contexts[: batch.first_judged], torch.arange(log.contexts)])
            batch = replace(batch, contexts=everyone)
        logits = learner.network(learner.x.index_select(0, batch.contexts))
        risk = learner.risk(logits, batch, learner.lambdas(), shift)
        found.append((risk, learner.constraint(logits, batch, learner.log_shares())))
    (risk, value), (disk_risk, disk_value) = found
    assert disk_risk.item() == pytest.approx(risk.item(), rel=5e-5, abs=1e-6)
    assert disk_value.item() == pytest.approx(value.item(), rel=5e-5)


def test_rows_stand_for_their_logger(
    log: TrainingLog, quick: EverySetting, logs: tuple[LearnerLog, LearnerLog]
) -> None:
    """The scales of a batch add up to the training rows of each logger."""
    learner = ExactLearner(logs[1], NAIVE, replace(quick, batch_size=50).exact(), seed=0)
    for batch in learner.rows.epoch():
        assert isinstance(batch.scale, torch.Tensor)
        totals = torch.bincount(batch.logger, batch.scale).numpy()
        assert totals == pytest.approx(learner.measure.counts, rel=1e-5)
        assert len(batch.judged) == len(batch.delta) // 2
        assert int(batch.judged.max()) < log.contexts
