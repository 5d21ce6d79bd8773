"""Estimators on a world small enough to list every log that could have been written."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import all_actions, log_probability_table
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import (
    Estimate,
    lambda_weighted_risk,
    logger_stats,
)
from multilogger.components.estimators.lambda_star import (
    self_normalised_divergence,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import RAW, SELF_NORMALISED, WeightRule
from tests.components.estimators.every_outcome import every_outcome
from tests.components.estimators.risks import (
    balanced_risk,
    naive_risk,
    plain_lambdas,
    weighted_risk,
)

# Two contexts of probabilities 0.3 and 0.7, two labels: eight outcomes of one logged row.
P_X = np.repeat([0.3, 0.7], 4)
ACTIONS = all_actions(2)
TARGET = np.array([[0.4, -1.0], [1.2, 0.3]])
LOGGERS = np.array([[[0.0, 0.2], [-0.5, 0.1]], [[1.0, -2.0], [2.0, 1.0]]])
LOSS = np.array([0.0, 1.0, 1.0, 2.0, 1.5, 0.5, 2.0, 0.25])


def flat_table(logits: Matrix) -> Matrix:
    return log_probability_table(logits, ACTIONS).ravel()


LOG_TARGET = flat_table(TARGET)
LOG_PROPENSITIES = np.stack([flat_table(logits) for logits in LOGGERS], axis=1)
RISK = float(np.sum(P_X * np.exp(LOG_TARGET) * LOSS))


@dataclass(frozen=True)
class WeighedLog:
    """A log that could have been written, and the probability that it is."""

    probability: float
    batch: LoggedBatch


def every_log(counts: tuple[int, int]) -> Iterator[WeighedLog]:
    logger = np.repeat([0, 1], counts)
    chance = P_X[:, None] * np.exp(LOG_PROPENSITIES)
    for outcome, orders in every_outcome(counts, len(LOSS)):
        batch = LoggedBatch(
            logger=logger,
            delta=LOSS[outcome],
            log_propensity=LOG_PROPENSITIES[outcome, logger],
            log_target=LOG_TARGET[outcome],
            max_loss=2.0,
            log_propensities=LOG_PROPENSITIES[outcome],
        )
        yield WeighedLog(orders * float(np.prod(chance[outcome, logger])), batch)


def draw_batch(seed: int, counts: tuple[int, ...] = (400, 150)) -> LoggedBatch:
    rng = np.random.default_rng(seed)
    logger = np.repeat(np.arange(len(counts)), counts)
    chance = P_X[:, None] * np.exp(LOG_PROPENSITIES)
    drawn = [rng.choice(len(LOSS), size=count, p=chance[:, j]) for j, count in enumerate(counts)]
    outcome = np.concatenate(drawn)
    return LoggedBatch(
        logger=logger,
        delta=LOSS[outcome],
        log_propensity=LOG_PROPENSITIES[outcome, logger],
        log_target=LOG_TARGET[outcome],
        max_loss=2.0,
        log_propensities=LOG_PROPENSITIES[outcome, : len(counts)],
    )


FIXED_LAMBDAS = np.array([0.1, 0.8])  # for counts (2, 1)


@pytest.mark.parametrize(
    "estimator",
    [naive_risk, balanced_risk, lambda batch: lambda_weighted_risk(batch, FIXED_LAMBDAS)],
    ids=["naive", "balanced", "lambda-weighted"],
)
def test_unbiased_over_every_log(estimator: Callable[[LoggedBatch], Estimate]) -> None:
    total = mean = mean_weight = 0.0
    for log in every_log((2, 1)):
        estimate = estimator(log.batch)
        total += log.probability
        mean += log.probability * estimate.value
        mean_weight += log.probability * estimate.mean_weight
    assert total == pytest.approx(1.0, rel=1e-12)
    assert mean == pytest.approx(RISK, rel=1e-12)
    assert mean_weight == pytest.approx(1.0, rel=1e-12)


def test_clipping_biases_downwards() -> None:
    rule = WeightRule(clip=1.1)
    mean = sum(log.probability * naive_risk(log.batch, rule).value for log in every_log((1, 1)))
    assert mean < RISK - 0.05


@pytest.mark.parametrize("estimator", [naive_risk, balanced_risk])
def test_squared_standard_error_is_the_variance_on_average(
    estimator: Callable[[LoggedBatch], Estimate],
) -> None:
    mean_square = squared_error = 0.0
    for log in every_log((2, 2)):
        estimate = estimator(log.batch)
        mean_square += log.probability * (estimate.value - RISK) ** 2
        squared_error += log.probability * estimate.standard_error**2
    assert squared_error == pytest.approx(mean_square, rel=1e-10)


def test_self_normalised_standard_error_matches_the_spread_of_many_logs() -> None:
    estimates = [naive_risk(draw_batch(seed), SELF_NORMALISED) for seed in range(200)]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    typical = np.mean([estimate.standard_error for estimate in estimates])
    assert typical == pytest.approx(spread, rel=0.15)
    assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(
        RISK, abs=3 * spread / 200**0.5
    )


def test_equal_lambdas_reduce_weighted_to_naive() -> None:
    batch = draw_batch(0)
    for rule in (RAW, SELF_NORMALISED, WeightRule(clip=2.0)):
        assert lambda_weighted_risk(batch, np.full(2, 1 / 550), rule) == naive_risk(batch, rule)


def test_one_logger_reduces_to_plain_ips() -> None:
    batch = draw_batch(0, counts=(300,))
    w = np.exp(batch.log_target - batch.log_propensity)
    ips = np.mean(w * batch.delta)
    for estimate in (naive_risk(batch), weighted_risk(batch), balanced_risk(batch)):
        assert estimate.value == pytest.approx(ips, rel=1e-12)
        assert estimate.standard_error == pytest.approx(np.std(w * batch.delta, ddof=1) / 300**0.5, rel=1e-12)
    snips = np.sum(w * batch.delta) / np.sum(w)
    assert naive_risk(batch, SELF_NORMALISED).value == pytest.approx(snips, rel=1e-12)


def test_self_normalised_risk_of_a_constant_loss_is_that_loss() -> None:
    batch = replace(draw_batch(1), delta=np.full(550, 1.7))
    for estimator in (naive_risk, balanced_risk):
        estimate = estimator(batch, SELF_NORMALISED)
        assert estimate.value == pytest.approx(1.7, rel=1e-12)
        assert estimate.standard_error == pytest.approx(0.0, abs=1e-12)


def test_weighted_uses_lambda_star_and_beats_naive() -> None:
    batch = draw_batch(2)
    weighted = weighted_risk(batch)
    s2 = self_normalised_divergence(logger_stats(batch))
    expected = 1 / (s2 * np.sum(batch.counts / s2))
    assert weighted.lambdas == pytest.approx(expected, rel=1e-12)
    assert float(batch.counts @ weighted.lambdas) == pytest.approx(1.0, rel=1e-12)
    assert weighted.standard_error < naive_risk(batch).standard_error


def test_on_policy_rows_are_all_effective() -> None:
    batch = draw_batch(3, counts=(100,))
    estimate = naive_risk(replace(batch, log_target=batch.log_propensity))
    assert estimate.value == pytest.approx(batch.delta.mean())
    assert estimate.mean_weight == pytest.approx(1.0)
    assert estimate.effective_rows == pytest.approx(100.0)


def test_a_single_row_has_no_standard_error() -> None:
    assert math.isnan(naive_risk(next(every_log((1, 2))).batch).standard_error)


@pytest.mark.parametrize("kind", ["raw", "clipped"])
def test_open_bandit_pipeline_agrees(kind: str) -> None:
    recorded = json.loads((Path(__file__).parent / "obp_figures.json").read_text())
    logger, table = np.array(recorded["logger"]), np.array(recorded["log_propensities"])
    batch = LoggedBatch(
        logger=logger,
        delta=np.array(recorded["delta"]),
        log_propensity=table[np.arange(len(logger)), logger],
        log_target=np.array(recorded["log_target"]),
        max_loss=recorded["max_loss"],
        log_propensities=table,
    )
    rule = RAW if kind == "raw" else WeightRule(clip=recorded["clip"])
    theirs = recorded[kind]
    assert naive_risk(batch, rule).value == pytest.approx(theirs["naive"], abs=1e-8)
    assert balanced_risk(batch, rule).value == pytest.approx(theirs["balanced"], abs=1e-8)
    weighted = lambda_weighted_risk(batch, plain_lambdas(logger_stats(batch, rule.clip)), rule)
    assert weighted.value == pytest.approx(theirs["weighted"], abs=1e-8)
    # The paper's own divergence is another one, and gives another figure.
    assert abs(weighted_risk(batch, rule).value - theirs["weighted"]) > 1e-4


BATCH = draw_batch(0, counts=(3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: balanced_risk(replace(BATCH, log_propensities=None)),
            "the balanced estimator needs the log propensity of each action under every logger, "
            "got only that under its own; fill log_propensities, or use the naive or weighted estimator",
        ),
        (
            lambda: lambda_weighted_risk(BATCH, np.ones(3)),
            "one lambda per logger is needed, got shape (3,) for 2 loggers",
        ),
        (
            lambda: lambda_weighted_risk(BATCH, np.array([0.5, 0.5])),
            "lambdas must be at least 0 with sum_j n_j lambda_j = 1, got [0.5, 0.5] with sum 2.5; "
            "divide them by that sum",
        ),
        (
            lambda: lambda_weighted_risk(BATCH, np.array([1.0, -1.0])),
            "lambdas must be at least 0 with sum_j n_j lambda_j = 1, got [1.0, -1.0] with sum 1; "
            "divide them by that sum",
        ),
        (
            lambda: naive_risk(replace(BATCH, log_target=np.full(5, -math.inf)), SELF_NORMALISED),
            "a self-normalised risk needs one row that the policy could have taken, got weight 0 in all 5; "
            "the policy and the log have no action in common",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
