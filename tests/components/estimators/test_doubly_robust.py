"""Doubly robust estimators on a world small enough to list every log that could have been written."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import (
    ModelledLoss,
    balanced_doubly_robust,
    influence_values,
)
from multilogger.components.estimators.ips import (
    Estimate,
    balanced_rows,
    lambda_weighted_risk,
    own_rows,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import RAW, SELF_NORMALISED, WeightRule
from tests.components.estimators.every_outcome import every_outcome
from tests.components.estimators.risks import (
    balanced_risk,
    lambda_weighted_doubly_robust,
    naive_doubly_robust,
    naive_risk,
    switch_doubly_robust,
)

# Two contexts, two actions, and a loss that is one of two numbers: eight outcomes of one logged row.
CONTEXT = np.repeat([0, 1], 4)
ACTION = np.tile([0, 0, 1, 1], 2)
P_X = np.array([0.3, 0.7])
TARGET = np.array([[0.8, 0.2], [0.3, 0.7]])
LOGGERS = np.array([[[0.5, 0.5], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]])
WRONG_LOGGERS = np.array([[[0.3, 0.7], [0.5, 0.5]], [[0.6, 0.4], [0.7, 0.3]]])
MEAN_LOSS = np.array([[0.5, 1.5], [1.0, 0.4]])
WRONG_MODEL = np.array([[1.0, 0.2], [0.1, 0.6]])
NOISE = np.tile([-0.3, 0.3], 4)
LOSS = MEAN_LOSS[CONTEXT, ACTION] + NOISE
RISK = float(P_X @ (TARGET * MEAN_LOSS).sum(axis=1))
LAMBDAS = np.array([0.1, 0.8])  # for counts (2, 1)

Rows = NDArray[np.int64]
Estimator = Callable[[LoggedBatch, ModelledLoss], Estimate]
ESTIMATORS: dict[str, Estimator] = {
    "naive": naive_doubly_robust,
    "lambda-weighted": lambda batch, model: lambda_weighted_doubly_robust(batch, model, LAMBDAS),
    "balanced": balanced_doubly_robust,
}


@dataclass(frozen=True)
class WeighedLog:
    """A log that could have been written, the probability that it is, and the outcome of each row."""

    probability: float
    batch: LoggedBatch
    outcome: Rows


def batch_of(outcome: Rows, logger: Rows, believed: Vector) -> LoggedBatch:
    table = np.log(believed[:, CONTEXT[outcome], ACTION[outcome]].T)
    return LoggedBatch(
        logger=logger,
        delta=LOSS[outcome],
        log_propensity=table[np.arange(len(logger)), logger],
        log_target=np.log(TARGET[CONTEXT[outcome], ACTION[outcome]]),
        max_loss=2.0,
        log_propensities=table,
    )


def every_log(counts: tuple[int, int], believed: Vector = LOGGERS) -> Iterator[WeighedLog]:
    """All logs of the true loggers, with the propensities that somebody believes in."""
    logger = np.repeat([0, 1], counts)
    chance = 0.5 * P_X[CONTEXT] * LOGGERS[:, CONTEXT, ACTION]
    for outcome, orders in every_outcome(counts, len(LOSS)):
        probability = orders * float(np.prod(chance[logger, outcome]))
        yield WeighedLog(probability, batch_of(outcome, logger, believed), outcome)


def modelled(outcome: Rows, model: Vector) -> ModelledLoss:
    context = CONTEXT[outcome]
    return ModelledLoss(model[context, ACTION[outcome]], (TARGET * model).sum(axis=1)[context])


def expected_value(estimator: Estimator, model: Vector, believed: Vector) -> float:
    logs = every_log((2, 1), believed)
    return sum(log.probability * estimator(log.batch, modelled(log.outcome, model)).value for log in logs)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_right_propensities_make_up_for_a_wrong_model(name: str) -> None:
    assert expected_value(ESTIMATORS[name], WRONG_MODEL, LOGGERS) == pytest.approx(RISK, rel=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 0.7, 1.5, 10.0])
def test_switch_is_right_but_for_what_the_model_lacks_at_large_weights(threshold: float) -> None:
    """Its bias by a sum over contexts and actions: -h (delta - q) wherever h/h_j exceeds the threshold."""
    share = np.array([2.0, 1.0]) / 3.0
    left = np.where(threshold < TARGET / LOGGERS, TARGET * (MEAN_LOSS - WRONG_MODEL), 0.0)
    bias = -float(share @ (left.sum(axis=2) @ P_X))
    found = expected_value(lambda b, m: switch_doubly_robust(b, m, threshold), WRONG_MODEL, LOGGERS)
    assert found == pytest.approx(RISK + bias, rel=1e-12)
    assert (bias == 0.0) == (threshold == 10.0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_right_model_makes_up_for_wrong_propensities(name: str) -> None:
    assert expected_value(ESTIMATORS[name], MEAN_LOSS, WRONG_LOGGERS) == pytest.approx(RISK, rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_makes_up_for_both(name: str) -> None:
    assert abs(expected_value(ESTIMATORS[name], WRONG_MODEL, WRONG_LOGGERS) - RISK) > 0.04


def test_wrong_parts_alone_are_biased() -> None:
    """So the tests above would fail for an estimator that used only one part."""
    model_alone = float(P_X @ (TARGET * WRONG_MODEL).sum(axis=1))
    assert abs(model_alone - RISK) > 0.04
    nothing = np.zeros((2, 2))
    for estimator in ESTIMATORS.values():
        assert abs(expected_value(estimator, nothing, WRONG_LOGGERS) - RISK) > 0.04


def test_squared_standard_error_is_the_variance_on_average() -> None:
    mean_square = squared_error = 0.0
    for log in every_log((2, 2)):
        estimate = balanced_doubly_robust(log.batch, modelled(log.outcome, WRONG_MODEL))
        mean_square += log.probability * (estimate.value - RISK) ** 2
        squared_error += log.probability * estimate.standard_error**2
    assert squared_error == pytest.approx(mean_square, rel=1e-10)


def draw(seed: int, counts: tuple[int, int] = (300, 150)) -> tuple[LoggedBatch, Rows]:
    rng = np.random.default_rng(seed)
    logger = np.repeat([0, 1], counts)
    chance = 0.5 * P_X[CONTEXT] * LOGGERS[:, CONTEXT, ACTION]
    outcome = np.concatenate([rng.choice(len(LOSS), size=n, p=chance[j]) for j, n in enumerate(counts)])
    return batch_of(outcome, logger, LOGGERS), outcome


def test_self_normalised_standard_error_matches_the_spread_of_many_logs() -> None:
    draws = [draw(seed) for seed in range(300)]
    estimates = [balanced_doubly_robust(b, modelled(o, WRONG_MODEL), SELF_NORMALISED) for b, o in draws]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    assert np.mean([e.standard_error for e in estimates]) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("rule", [RAW, SELF_NORMALISED, WeightRule(clip=1.2)])
def test_influence_values_average_to_the_estimate(rule: WeightRule) -> None:
    batch, outcome = draw(1)
    model, lambdas = modelled(outcome, WRONG_MODEL), np.array([0.5 / 300, 0.5 / 150])
    equal, own, balanced = np.full(2, 1 / 450), own_rows(batch, rule.clip), balanced_rows(batch, rule.clip)
    for rows, weights, found in (
        (own, equal, naive_doubly_robust(batch, model, rule)),
        (balanced, equal, balanced_doubly_robust(batch, model, rule)),
        (own, lambdas, lambda_weighted_doubly_robust(batch, model, lambdas, rule)),
    ):
        psi = influence_values(rows, model, weights, rule.self_normalised)
        assert psi.mean() == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("rule", [RAW, SELF_NORMALISED, WeightRule(clip=1.2)])
def test_without_a_model_it_is_importance_sampling(rule: WeightRule) -> None:
    batch, _ = draw(2)
    nothing, lambdas = ModelledLoss(np.zeros(450), np.zeros(450)), np.array([0.4 / 300, 0.6 / 150])
    for ours, plain in (
        (naive_doubly_robust(batch, nothing, rule), naive_risk(batch, rule)),
        (balanced_doubly_robust(batch, nothing, rule), balanced_risk(batch, rule)),
        (
            lambda_weighted_doubly_robust(batch, nothing, lambdas, rule),
            lambda_weighted_risk(batch, lambdas, rule),
        ),
    ):
        assert astuple(ours)[:-1] == pytest.approx(astuple(plain)[:-1], rel=1e-12)
        assert ours.lambdas == plain.lambdas


def test_a_good_model_lowers_the_error() -> None:
    batch, outcome = draw(3)
    with_model = naive_doubly_robust(batch, modelled(outcome, MEAN_LOSS))
    assert with_model.standard_error < 0.8 * naive_risk(batch).standard_error


def test_a_single_row_has_no_standard_error() -> None:
    log = next(every_log((1, 2)))
    assert math.isnan(naive_doubly_robust(log.batch, modelled(log.outcome, MEAN_LOSS)).standard_error)


BATCH, OUTCOME = draw(0, (3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ModelledLoss(np.zeros(3), np.zeros(2)),
            "a model gives one loss a row at the logged action and one under the policy, got shapes (3,) "
            "and (2,)",
        ),
        (
            lambda: ModelledLoss(np.array([math.nan]), np.zeros(1)),
            "modelled losses must be finite, got NaN or infinity; did the model diverge?",
        ),
        (
            lambda: naive_doubly_robust(BATCH, ModelledLoss(np.zeros(4), np.zeros(4))),
            "the model gives losses for 4 rows, the log has 5; take both from the same rows",
        ),
        (
            lambda: balanced_doubly_robust(
                replace(BATCH, log_propensities=None), modelled(OUTCOME, MEAN_LOSS)
            ),
            "the balanced estimator needs the log propensity of each action under every logger, "
            "got only that under its own; fill log_propensities, or use the naive or weighted estimator",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
