"""Points: against the estimators of one batch, and by a sum over every log that could have been written."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulated_world import make_world
from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.labels import all_actions, log_probability_table
from multilogger.components.estimators.doubly_robust import (
    ModelledLoss,
    balanced_doubly_robust,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import SELF_NORMALISED, WeightRule, log_mixture
from multilogger.components.evaluation.context_sums import ScoredLog, context_sums, total_sums
from multilogger.components.evaluation.point_estimates import estimates
from tests.components.estimators.risks import (
    balanced_risk,
    lambda_weighted_doubly_robust,
    naive_risk,
    weighted_risk,
)

CLIP = 1.5


def scored(
    logger: list[int], delta: Vector, log_target: Vector, table: Vector, context: list[int] | None = None
) -> ScoredLog:
    """A log from its columns; `table` (n, J) holds the log propensities under every logger."""
    rows = np.arange(len(logger))
    who = np.array(logger)
    return ScoredLog(
        names=tuple("abc"[: table.shape[1]]),
        logger=who,
        context=rows if context is None else np.array(context),
        delta=delta,
        log_propensity=table[rows, who],
        log_target=log_target,
        max_loss=2.0,
        log_average=log_mixture(table, np.bincount(who, minlength=table.shape[1]).astype(float)),
        is_greedy=np.zeros(len(rows), dtype=bool),
        log_greedy=np.zeros(len(rows)),
    )


def points(log: ScoredLog, model: ModelledLoss | None = None, clip: float = CLIP) -> dict[str, float]:
    sums = total_sums(context_sums(log, clip, model), log.loggers)
    found = estimates(sums, log.counts, log.log_average is not None, model is not None)
    return {name: float(value) for name, value in found.items()}


def drawn(seed: int) -> tuple[ScoredLog, LoggedBatch, ModelledLoss]:
    rng = np.random.default_rng(seed)
    logger = rng.permutation(np.repeat([0, 1, 2], (60, 25, 40)))
    table = -rng.exponential(1.0, (125, 3))
    log_target, delta = -rng.exponential(1.0, 125), 2.0 * rng.random(125)
    log = scored(logger.tolist(), delta, log_target, table, rng.integers(0, 30, 125).tolist())
    log = replace(log, context=np.unique(log.context, return_inverse=True)[1])
    batch = LoggedBatch(logger, delta, log.log_propensity, log_target, 2.0, table)
    return log, batch, ModelledLoss(rng.random(125), rng.random(125))


def test_equal_the_estimators_of_a_batch_whatever_the_contexts() -> None:
    log, batch, model = drawn(3)
    found = points(log, model)
    clipped = WeightRule(clip=CLIP)
    expected = {
        "naive": naive_risk(batch),
        "naive-sn": naive_risk(batch, SELF_NORMALISED),
        "naive-clipped": naive_risk(batch, clipped),
        "weighted": weighted_risk(batch),
        "weighted-sn": weighted_risk(batch, SELF_NORMALISED),
        "weighted-clipped": weighted_risk(batch, clipped),
        "balanced": balanced_risk(batch),
        "balanced-sn": balanced_risk(batch, SELF_NORMALISED),
        "balanced-clipped": balanced_risk(batch, clipped),
        "dr": balanced_doubly_robust(batch, model),
    }
    assert found == pytest.approx({name: one.value for name, one in expected.items()}, rel=1e-10)


def test_without_other_propensities_dr_weighs_the_loggers_by_lambda_star() -> None:
    log, batch, model = drawn(4)
    found = points(replace(log, log_average=None), model)
    assert "balanced" not in found
    lambdas = np.array(weighted_risk(batch).lambdas)
    expected = lambda_weighted_doubly_robust(batch, model, lambdas)
    assert found["dr"] == pytest.approx(expected.value, rel=1e-10)


def test_one_logger_reduces_to_ips() -> None:
    log, _, _ = drawn(5)
    rows = log.logger == 0
    alone = scored([0] * 60, log.delta[rows], log.log_target[rows], log.log_propensity[rows][:, None])
    found = points(alone)
    ips = float(np.mean(np.exp(alone.log_target - alone.log_propensity) * alone.delta))
    assert [found[name] for name in ("naive", "weighted", "balanced")] == pytest.approx([ips] * 3, rel=1e-10)


def test_naive_balanced_and_dr_are_unbiased_over_every_log() -> None:
    """Two contexts x four actions, logs of two rows by one logger and one by the other."""
    actions = all_actions(2)
    loggers = ([[0.0, 0.2], [-0.5, 0.1]], [[1.0, -2.0], [2.0, 1.0]])
    table = np.stack([log_probability_table(np.array(one), actions).ravel() for one in loggers], axis=1)
    target = log_probability_table(np.array([[0.4, -1.0], [1.2, 0.3]]), actions)
    p_x = np.repeat([0.3, 0.7], 4)
    loss = np.array([0.0, 1.0, 1.0, 2.0, 1.5, 0.5, 2.0, 0.25])
    wrong_model = np.array([1.0, 0.2, 0.7, 1.1, 0.3, 2.0, 0.1, 0.6])
    q_target = np.repeat((np.exp(target) * wrong_model.reshape(2, 4)).sum(axis=1), 4)
    risk = float(np.sum(p_x * np.exp(target.ravel()) * loss))
    logger = [0, 0, 1]
    chance = p_x[:, None] * np.exp(table)
    total = dict.fromkeys(("naive", "balanced", "dr"), 0.0)
    for rows in itertools.product(range(8), repeat=3):
        at = list(rows)
        log = scored(logger, loss[at], target.ravel()[at], table[at])
        found = points(log, ModelledLoss(wrong_model[at], q_target[at]))
        for name in total:
            total[name] += float(np.prod(chance[at, logger])) * found[name]
    assert total == pytest.approx(dict.fromkeys(total, risk), rel=1e-12)


def test_a_logger_without_any_weight_has_no_share() -> None:
    """A deterministic policy and a logger that never met its action: the estimate is the other logger's."""
    log_target = np.array([-np.inf, -np.inf, -np.inf, 0.0, -np.inf, 0.0])
    table = np.log(np.full((6, 2), 0.5))
    log = scored([0, 0, 0, 1, 1, 1], np.array([2.0, 1.0, 0.5, 1.0, 2.0, 0.0]), log_target, table)
    assert points(log, clip=100.0)["weighted"] == pytest.approx((2.0 * 1.0 + 0.0) / 3)


def test_simulated_risk_is_what_long_logs_tend_to() -> None:
    world = make_world("good")
    found = world.draw(40_000, (1, 1), np.random.default_rng(0))
    values = points(found.log, found.model, clip=1000.0)
    assert values == pytest.approx(dict.fromkeys(values, world.risk), abs=0.02)


def test_a_logger_whose_few_effective_rows_are_lucky_has_no_share() -> None:
    """A greedy policy: three of logger a's 400 rows are its actions, all without loss; half of b's are.

    Printed literally lambda* would give logger a almost all, and the estimate would be near 0.
    """
    acts = np.zeros(800, dtype=bool)
    acts[:3] = True
    acts[400::2] = True
    delta = np.where(acts, 0.0, 2.0)
    delta[400::4] = 1.0  # half of b's rows that count
    table = np.log(np.tile([3 / 400, 0.5], (800, 1)))
    log = scored([0] * 400 + [1] * 400, delta, np.where(acts, 0.0, -np.inf), table)
    found = points(log, clip=1e9)
    assert found["weighted"] == pytest.approx(0.5)
    assert found["weighted-clipped"] == pytest.approx(0.5)


def test_few_rows_in_all_are_no_reason_to_leave_a_logger_out() -> None:
    log, batch, _ = drawn(5)
    few = np.flatnonzero(log.logger == 1)[:12]
    rows = np.concatenate([few, np.flatnonzero(log.logger != 1)])
    short = LoggedBatch(
        batch.logger[rows], batch.delta[rows], batch.log_propensity[rows], batch.log_target[rows], 2.0
    )
    kept = scored(
        log.logger[rows].tolist(),
        log.delta[rows],
        log.log_target[rows],
        np.tile(log.log_propensity[rows][:, None], (1, 3)),
    )
    assert points(kept)["weighted"] == pytest.approx(weighted_risk(short).value, rel=1e-10)
