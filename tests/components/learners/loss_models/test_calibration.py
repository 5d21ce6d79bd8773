"""The calibration test on logs whose chances are known."""

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.one_of import OneOf
from multilogger.components.learners.loss_models.calibration import calibration_test
from multilogger.components.log.memory import TrainingLog

CONTEXTS, K = 400, 3


def make_log(seed: int, rows: int = 3, shared: bool = False) -> tuple[TrainingLog, Matrix]:
    """Uniform actions, right with known chances p (m, K); `shared` has one draw per context and action."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, size=(CONTEXTS, K))
    context = np.repeat(np.arange(CONTEXTS), rows)
    action = rng.integers(K, size=len(context))
    drawn = rng.random((CONTEXTS, K))[context, action] if shared else rng.random(len(context))
    delta = (drawn >= p[context, action]).astype(np.float64)
    log = TrainingLog(
        x=np.zeros((CONTEXTS, 1), dtype=np.float32),
        context=context,
        action=action,
        delta=delta,
        log_propensities=np.full((len(context), 1), -np.log(K)),
        logger=np.zeros(len(context), dtype=np.int64),
        validation=np.arange(len(context)) % 4 == 0,
        space=OneOf(K),
    )
    return log, p


@pytest.mark.parametrize("shared", [False, True])
def test_right_model_is_rejected_as_often_as_it_says(shared: bool) -> None:
    """Also where rows of one context are all right or all wrong together."""
    values = [calibration_test(*make_log(seed, shared=shared)).p_value for seed in range(200)]
    assert abs(np.mean(np.array(values) < 0.1) - 0.1) < 3 * np.sqrt(0.09 / 200)


def test_right_model_needs_no_mending() -> None:
    log, p = make_log(0, rows=20)
    test = calibration_test(log, p)
    assert test.slope == pytest.approx(1.0, abs=0.1)
    assert test.intercept == pytest.approx(0.0, abs=0.1)
    assert not test.rejected
    assert sum(one.rows for one in test.bins) == log.rows
    assert all(abs(one.predicted - one.observed) < 0.06 for one in test.bins)


@pytest.mark.parametrize(
    ("bend", "slope", "intercept"),
    [(lambda z: 2.0 * z, 0.5, 0.0), (lambda z: 0.5 * z, 2.0, 0.0), (lambda z: z + 1.0, 1.0, -1.0)],
)
def test_wrong_model_is_found_and_said_how(bend, slope: float, intercept: float) -> None:  # type: ignore[no-untyped-def]
    log, p = make_log(1, rows=20)
    wrong = 1.0 / (1.0 + np.exp(-bend(np.log(p / (1.0 - p)))))
    test = calibration_test(log, wrong)
    assert test.rejected
    assert test.p_value < 1e-6
    assert test.slope == pytest.approx(slope, abs=0.1)
    assert test.intercept == pytest.approx(intercept, abs=0.15)


def test_a_difference_too_small_to_matter_is_no_rejection() -> None:
    log, p = make_log(2, rows=400)
    test = calibration_test(log, np.clip(p * 1.02, 0, 0.95))
    assert test.p_value < 0.01
    assert not test.rejected
