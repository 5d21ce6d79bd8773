"""Estimates from sums over chunks are those of the whole batch."""

import math

import numpy as np
import pytest

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import (
    Estimate,
    equal_estimate,
    estimate,
    lambda_weighted_risk,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.moments import LoggerMoments
from multilogger.components.estimators.weights import (
    RAW,
    SELF_NORMALISED,
    WeightRule,
    importance_weights,
    log_mixture,
)
from tests.components.estimators.risks import (
    balanced_risk,
    naive_risk,
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


def moments_of(batch: LoggedBatch, log_denominator: Vector, chunks: int) -> LoggerMoments:
    weights = importance_weights(batch.log_target, log_denominator)
    found = LoggerMoments(batch.loggers, 1.7)
    for rows in np.array_split(np.arange(batch.rows), chunks):
        for j in np.unique(batch.logger[rows]):
            own = rows[batch.logger[rows] == j]
            found.add(int(j), weights[own], batch.delta[own])
    return found


def check(found: Estimate, expected: Estimate) -> None:
    for name, value in vars(expected).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name


@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.parametrize("rule", [RAW, SELF_NORMALISED], ids=["raw", "self-normalised"])
def test_estimates_are_those_of_the_whole_batch(batch: LoggedBatch, rule: WeightRule, chunks: int) -> None:
    lambdas = np.array([0.2, 0.3, 0.5]) / batch.counts
    own = moments_of(batch, batch.log_propensity, chunks)
    check(equal_estimate(own, rule.self_normalised), naive_risk(batch, rule))
    weighted = lambda_weighted_risk(batch, lambdas, rule)
    check(estimate(own, lambdas, rule.self_normalised), weighted)
    assert batch.log_propensities is not None
    average = moments_of(batch, log_mixture(batch.log_propensities, batch.counts), chunks)
    check(equal_estimate(average, rule.self_normalised), balanced_risk(batch, rule))


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e250])
@pytest.mark.parametrize("chunks", [1, 3, 100])
def test_sums_do_not_depend_on_chunks_or_scale(rng: np.random.Generator, scale: float, chunks: int) -> None:
    weights, delta = rng.exponential(size=100) ** 3, rng.integers(0, 4, size=100).astype(float)
    moments = LoggerMoments(1, centre=1.4)
    for w, d in zip(np.array_split(weights, chunks), np.array_split(delta, chunks), strict=True):
        moments.add(0, scale * w, d)
    found = equal_estimate(moments, self_normalised=True)
    value = weights @ delta / weights.sum()
    error = np.std(weights * (delta - value), ddof=1) / weights.mean() / math.sqrt(100)
    assert (found.value, found.standard_error) == pytest.approx((value, error), rel=1e-9)


def of(weights: list[float], delta: list[float]) -> LoggerMoments:
    moments = LoggerMoments(1, centre=0.0)
    moments.add(0, np.array(weights), np.array(delta))
    return moments


def test_huge_weights_have_an_estimate() -> None:
    found = equal_estimate(of([1e200, 3e200], [1.0, 2.0]))
    assert found.value == pytest.approx(3.5e200)
    assert found.effective_rows == pytest.approx(1.6)
    assert math.isfinite(found.standard_error)


def test_a_single_row_has_no_error_and_no_weight_no_self_normalised_risk() -> None:
    single = equal_estimate(of([2.0], [3.0]), self_normalised=True)
    assert single.value == pytest.approx(3.0)
    assert math.isnan(single.standard_error)
    with pytest.raises(BadInput, match="got weight 0 in all 4; the policy and the log have no action"):
        equal_estimate(of([0.0] * 4, [1.0] * 4), self_normalised=True)
