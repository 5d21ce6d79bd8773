"""Estimates from sums over chunks are those of the whole batch."""

import math

import numpy as np
import pytest

from multilogger.components.actions.labels import Vector
from multilogger.components.estimators.ips import Estimate, balanced_risk, lambda_weighted_risk, naive_risk
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.moments import LossMoments, estimate_from
from multilogger.components.estimators.weights import (
    RAW,
    SELF_NORMALISED,
    WeightRule,
    importance_weights,
    log_mixture,
)


@pytest.fixture
def batch(rng: np.random.Generator) -> LoggedBatch:
    """Weights from 1e-6 to 1e6, loggers of unequal length."""
    logger = np.sort(rng.choice(3, size=400, p=[0.6, 0.3, 0.1]))
    every = -rng.exponential(3.0, size=(400, 3)) - 1e-3
    return LoggedBatch(
        logger=logger,
        delta=rng.integers(0, 5, size=400).astype(np.float64),
        log_propensity=every[np.arange(400), logger],
        log_target=-rng.exponential(4.0, size=400),
        max_loss=4.0,
        log_propensities=every,
    )


def moments_of(batch: LoggedBatch, log_denominator: Vector, chunks: int) -> list[LossMoments]:
    weights = importance_weights(batch.log_target, log_denominator)
    found = [LossMoments(1.7)] * batch.loggers
    for rows in np.array_split(np.arange(batch.rows), chunks):
        for j in np.unique(batch.logger[rows]):
            own = rows[batch.logger[rows] == j]
            found[j] = found[j].update(weights[own], batch.delta[own])
    return found


def check(found: Estimate, expected: Estimate) -> None:
    for name, value in vars(expected).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name


@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.parametrize("rule", [RAW, SELF_NORMALISED], ids=["raw", "self-normalised"])
def test_estimates_are_those_of_the_whole_batch(batch: LoggedBatch, rule: WeightRule, chunks: int) -> None:
    equal, lambdas = np.full(3, 1.0 / batch.rows), np.array([0.2, 0.3, 0.5]) / batch.counts
    own = moments_of(batch, batch.log_propensity, chunks)
    check(estimate_from(own, equal, rule.self_normalised), naive_risk(batch, rule))
    weighted = lambda_weighted_risk(batch, lambdas, rule)
    check(estimate_from(own, lambdas, rule.self_normalised), weighted)
    assert batch.log_propensities is not None
    average = moments_of(batch, log_mixture(batch.log_propensities, batch.counts), chunks)
    check(estimate_from(average, equal, rule.self_normalised), balanced_risk(batch, rule))


def test_huge_weights_have_an_estimate_and_a_single_row_no_error() -> None:
    huge = LossMoments(0.0).update(np.array([1e200, 3e200]), np.array([1.0, 2.0]))
    found = estimate_from([huge], np.array([0.5]), self_normalised=False)
    assert found.value == pytest.approx(3.5e200)
    assert found.effective_rows == pytest.approx(1.6)
    assert math.isfinite(found.standard_error)
    single = LossMoments(0.0).update(np.array([2.0]), np.array([3.0]))
    assert math.isnan(estimate_from([single], np.array([1.0]), self_normalised=False).standard_error)
