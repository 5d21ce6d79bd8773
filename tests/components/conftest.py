"""A small problem that every learner can solve in seconds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from multilogger.components.actions.space import find_space
from multilogger.components.datasets.losses import USUAL_LOSS, find_loss
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from multilogger.components.log.schema import LogRows, log_file, log_schema, to_table
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass
from tests.components.every_setting import EverySetting


def make_training_log(
    contexts: int = 150,
    passes: tuple[int, ...] = (4, 3),
    seed: int = 5,
    alphas: tuple[float, ...] = (0.05, 0.4),
    actions: str = "labels",
) -> TrainingLog:
    """Three labels, or one of three actions, of four features; a nearly uniform logger and a fair one.

    Their logs have unequal lengths.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(contexts, 4)).astype(np.float32)
    slopes = np.array([[2.0, 0.0, 0.0, 1.0], [0.0, -2.0, 1.0, 0.0], [1.0, 1.0, -2.0, 0.0]])
    scores = x @ slopes.T + 0.3 * rng.normal(size=(contexts, 3))
    space = find_space(actions, 3)
    truth = (scores > 0).astype(np.uint8) if actions == "labels" else scores.argmax(axis=1)
    logits = tuple(alpha * (x @ slopes.T).astype(np.float64) for alpha in alphas)
    plan = ReplayPlan(seed, 0.25, SplitBy.ROW, 10_000)
    parts = [
        (j, rows)
        for j in range(len(logits))
        for r in range(passes[j])
        for rows in replay_pass(space, list(logits), truth, j, r, plan, find_loss(USUAL_LOSS[actions]))
    ]
    return TrainingLog(
        x=x,
        context=np.concatenate([rows.context for _, rows in parts]).astype(np.int64),
        action=np.concatenate([rows.action for _, rows in parts]),
        delta=np.concatenate([rows.delta for _, rows in parts]),
        log_propensities=np.concatenate([rows.log_propensities for _, rows in parts]),
        logger=np.concatenate([np.full(len(rows.delta), j) for j, rows in parts]),
        validation=np.concatenate([rows.validation for _, rows in parts]),
        space=space,
        logger_logits=logits,
        truth=truth,
    )


def write_training_log(log: TrainingLog, folder: Path, files: int = 2, group_rows: int = 60) -> Path:
    """The log on disk, in several files per logger of several row groups each."""
    for j in range(log.loggers):
        for pass_, rows in enumerate(np.array_split(np.flatnonzero(log.logger == j), files)):
            path = log_file(folder, j, pass_)
            path.parent.mkdir(parents=True)
            part = LogRows(
                context=log.context[rows].astype(np.int32),
                action=log.action[rows],
                delta=log.delta[rows],
                log_propensity=log.log_propensities[rows, j],
                log_propensities=log.log_propensities[rows],
                validation=log.validation[rows],
            )
            table = to_table(part, log_schema(log.space, log.loggers))
            pq.write_table(table, path, row_group_size=group_rows)
    return folder


@pytest.fixture(scope="session")
def write_log() -> Callable[..., Path]:
    return write_training_log


@pytest.fixture(scope="session")
def log_folder(log: TrainingLog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `log` on disk."""
    return write_training_log(log, tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="session")
def streamed(log: TrainingLog, log_folder: Path) -> StreamedLog:
    return open_streamed_log(log_folder, log.x, log.logger_logits, log.truth)


@pytest.fixture(scope="session")
def make_log() -> Callable[..., TrainingLog]:
    return make_training_log


@pytest.fixture(scope="session")
def log() -> TrainingLog:
    return make_training_log()


@pytest.fixture
def quick() -> EverySetting:
    """Settings under which an epoch takes milliseconds."""
    return EverySetting(
        hidden=(8,),
        risk_rate=1e-2,
        batch_size=64,
        epochs=12,
        patience=12,
        regulariser_rate=1e-2,
        discriminator_rate=1e-2,
        discriminator_hidden=(8,),
        inner_iterations=2,
        warm_up_steps=10,
        kappa=3.0,
        checkpoint_every=4,
        wcrm_clips=(10.0, 100.0),
        wcrm_variances=(0.1,),
        wcrm_l2s=(1e-3, 1e-2, 1e-1),
        wcrm_rounds=2,
        folds=2,
        model_epochs=3,
        policy_rate=1e-2,
    )
