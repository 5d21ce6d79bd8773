from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import Labels, marginals
from multilogger.components.datasets.losses import CROWDING, HAMMING, Loss
from multilogger.components.learners.loss_models.additivity import (
    CONFIRM_BELOW,
    additivity_test,
    logging_marginals,
    second_look,
)
from multilogger.components.log.memory import TrainingLog
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

LABELS = 4


def make_log(seed: int, loss: Loss, contexts: int = 120) -> TrainingLog:
    """True labels that are no function of x, two loggers, two passes each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(contexts, 3)).astype(np.float32)
    slopes = rng.normal(size=(3, LABELS))
    truth = (rng.random((contexts, LABELS)) < marginals(x @ slopes)).astype(np.uint8)
    logits = [alpha * (x @ slopes).astype(np.float64) for alpha in (0.05, 1.0)]
    plan = ReplayPlan(seed, 0.5, SplitBy.ROW, 10_000)
    parts = [
        (j, rows)
        for j in range(2)
        for r in range(2)
        for rows in replay_pass(Labels(LABELS), logits, truth, j, r, plan, loss)
    ]
    return TrainingLog(
        x=x,
        context=np.concatenate([rows.context for _, rows in parts]).astype(np.int64),
        action=np.concatenate([rows.action for _, rows in parts]),
        delta=np.concatenate([rows.delta for _, rows in parts]),
        log_propensities=np.concatenate([rows.log_propensities for _, rows in parts]),
        logger=np.concatenate([np.full(len(rows.delta), j) for j, rows in parts]),
        validation=np.concatenate([rows.validation for _, rows in parts]),
        space=Labels(LABELS),
        logger_logits=tuple(logits),
    )


def wrong_model(log: TrainingLog) -> Matrix:
    """A model that knows nothing of the contexts, so that all of its error is misfit."""
    return np.full((log.contexts, LABELS), 0.3)


def test_calibrated_under_additivity_though_the_model_is_wrong() -> None:
    p_values = np.array([_p_value(make_log(seed, HAMMING)) for seed in range(200)])
    # 5 % of 200 is 10; 21 or more would come once in a thousand such tests.
    assert (p_values < 0.05).sum() < 21
    assert 0.4 < p_values.mean() < 0.6


def _p_value(log: TrainingLog) -> float:
    return additivity_test(log, wrong_model(log)).p_value


def test_power_on_a_pairwise_loss() -> None:
    rejected = [additivity_test(log, wrong_model(log)).rejected for log in _crowded(20)]
    assert np.mean(rejected) >= 0.9


def _crowded(count: int) -> list[TrainingLog]:
    return [make_log(seed, CROWDING, contexts=400) for seed in range(count)]


def test_a_second_look_is_calibrated_and_sees_as_much() -> None:
    """Both together reject hardly ever where the loss adds up, and still find pairs in 480 rows."""
    both = [_looks(make_log(seed, HAMMING)) for seed in range(200)]
    second = np.array([p for _, p in both])
    assert (second < 0.05).sum() < 21
    assert 0.4 < second.mean() < 0.6
    assert sum(first < 0.01 and p < CONFIRM_BELOW for first, p in both) <= 1
    crowded = [_looks(make_log(seed, CROWDING)) for seed in range(20)]
    assert np.mean([p < CONFIRM_BELOW for _, p in crowded]) >= 0.9


def _looks(log: TrainingLog) -> tuple[float, float]:
    return _p_value(log), second_look(log, wrong_model(log))


def test_gain_is_the_share_of_squared_error_that_pairs_explain() -> None:
    log = make_log(0, CROWDING, contexts=2000)
    test = additivity_test(log, wrong_model(log))
    assert 0.05 < test.gain < 0.9
    assert test.p_value < 1e-12
    assert (test.pairs, test.rows) == (6, 4000)
    additive = make_log(0, HAMMING, contexts=2000)
    assert abs(additivity_test(additive, wrong_model(additive)).gain) < 0.01


def test_unknown_loggers_are_imitated() -> None:
    log = make_log(3, CROWDING, contexts=1500)
    unknown = replace(log, logger_logits=())
    for known, imitated in zip(logging_marginals(log), logging_marginals(unknown), strict=True):
        assert np.abs(known - imitated).mean() < 0.03
    assert additivity_test(unknown, wrong_model(log)).rejected
    assert not additivity_test(
        replace(make_log(3, HAMMING, contexts=1500), logger_logits=()), wrong_model(log)
    ).rejected


def test_one_label_has_no_pairs() -> None:
    log = make_log(0, HAMMING)
    logits = tuple(table[:, :1] for table in log.logger_logits)
    single = replace(log, action=log.action[:, :1], logger_logits=logits, space=Labels(1))
    test = additivity_test(single, np.full((log.contexts, 1), 0.5))
    assert (test.p_value, test.pairs, test.rejected) == (1.0, 0, False)
    assert test.gain == pytest.approx(0.0)
