"""The bootstrap against closed forms, what a context is to it, and Bernstein intervals by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from benchmarks.simulated_world import make_world
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.evaluation.context_sums import ScoredLog, Summed, context_sums, total_sums
from multilogger.components.evaluation.intervals import (
    Part,
    Values,
    accelerations,
    bca_interval,
    bernstein_interval,
    bootstrap_sums,
    parts_of,
    resample,
)
from multilogger.components.evaluation.log_sums import Bounds, WeightKind, sum_up
from multilogger.components.evaluation.point_estimates import Estimators
from tests.components.estimators.risks import (
    naive_risk,
)


def one_row_a_context(log: ScoredLog) -> ScoredLog:
    return replace(log, context=np.arange(log.rows))


def test_standard_error_is_the_analytic_one_for_independent_rows() -> None:
    scored = make_world("good").draw(1000, (2, 1), np.random.default_rng(1))
    log = one_row_a_context(scored.log)
    batch = LoggedBatch(log.logger, log.delta, log.log_propensity, log.log_target, log.max_loss)
    estimators = Estimators(log.counts, balanced=True, dr=True)
    found = resample(context_sums(log, 9.0, scored.model), estimators, 4000, 0.95, np.random.default_rng(2))
    assert found["naive"].standard_error == pytest.approx(naive_risk(batch).standard_error, rel=0.05)


def test_contexts_that_all_loggers_met_vary_together() -> None:
    """Losses that depend on the context alone, and weights of 1: the error is that of the contexts' mean."""
    rng = np.random.default_rng(3)
    contexts, passes = 500, 6
    of_context = rng.random(contexts)
    context = np.tile(np.arange(contexts), passes)
    log = ScoredLog(
        names=("a", "b"),
        logger=np.repeat([0, 1], contexts * passes // 2),
        context=context,
        delta=of_context[context],
        log_propensity=np.full(len(context), -1.0),
        log_target=np.full(len(context), -1.0),
        max_loss=1.0,
        log_average=None,
        is_greedy=np.ones(len(context), dtype=bool),
        log_greedy=np.zeros(len(context)),
    )
    estimators = Estimators(log.counts, balanced=False, dr=False)
    expected = of_context.std(ddof=1) / math.sqrt(contexts)

    def error(which: ScoredLog) -> float:
        strata = context_sums(which, 9.0, None)
        return resample(strata, estimators, 4000, 0.95, np.random.default_rng(4))["naive"].standard_error

    assert error(log) == pytest.approx(expected, rel=0.05)
    assert error(one_row_a_context(log)) == pytest.approx(expected / math.sqrt(passes), rel=0.05)


def test_every_resample_keeps_the_contexts_of_each_stratum() -> None:
    scored = make_world("good").draw(40, (1, 1), np.random.default_rng(5))
    lone = one_row_a_context(scored.log)
    strata = context_sums(lone, 9.0, None)
    assert [(s.logger, len(s.sums)) for s in strata] == [(0, 40), (1, 40)]
    rows = bootstrap_sums(strata, 2, 50, np.random.default_rng(6))[..., Summed.ROWS]
    assert (rows == 40).all()
    shared = context_sums(scored.log, 9.0, None)
    assert [(s.logger, s.sums.shape[:2]) for s in shared] == [(None, (40, 2))]
    np.testing.assert_allclose(total_sums(shared, 2), total_sums(strata, 2))


def test_same_seed_same_interval_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = make_world("good").draw(100, (2, 2), np.random.default_rng(7))
    strata = context_sums(scored.log, 9.0, None)
    whole = bootstrap_sums(strata, 2, 30, np.random.default_rng(8))
    monkeypatch.setattr("multilogger.components.evaluation.intervals.BLOCK_DRAWS", 700)
    np.testing.assert_allclose(bootstrap_sums(strata, 2, 30, np.random.default_rng(8)), whole)


def test_acceleration_of_a_mean_is_a_sixth_of_its_skewness() -> None:
    world = make_world("poor")
    alone = replace(world, loggers=world.loggers[:1]).draw(300, (1,), np.random.default_rng(9)).log
    log = replace(alone, log_average=None)
    u = log.weights * log.delta
    off = u - u.mean()
    found = accelerations(context_sums(log, 9.0, None), Estimators(log.counts, balanced=False, dr=False))
    assert found["naive"] == pytest.approx(float(np.sum(off**3) / (6.0 * np.sum(off**2) ** 1.5)), rel=1e-6)


def test_bca_by_hand() -> None:
    values = np.arange(1.0, 1001.0)
    plain = bca_interval(500.5, values, acceleration=0.0, level=0.9)
    assert (plain.low, plain.high) == pytest.approx(tuple(np.quantile(values, [0.05, 0.95])))
    z0, z, a = float(ndtri(0.6)), float(ndtri(0.95)), 0.05
    found = bca_interval(600.5, values, acceleration=a, level=0.9)
    low, high = (0.5 * (1 + math.erf((z0 + (z0 + s) / (1 - a * (z0 + s))) / math.sqrt(2))) for s in (-z, z))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [low, high])))


def test_intervals_of_a_log_without_any_weight_are_not_numbers() -> None:
    log = make_world("good").draw(50, (1, 1), np.random.default_rng(10)).log
    log = replace(log, log_target=np.full(log.rows, -np.inf), log_average=None)
    found = resample(
        context_sums(log, 9.0, None),
        Estimators(log.counts, balanced=False, dr=False),
        100,
        0.95,
        np.random.default_rng(11),
    )
    assert math.isnan(found["naive-sn"].bca.low)
    assert (found["naive"].bca.low, found["naive"].bca.high) == (0.0, 0.0)


def deviation(values: np.ndarray, width: float, eta: float) -> float:
    return Values(len(values), values.sum(), np.sum(values**2), width).deviation(eta)


def test_deviation_is_the_formula_of_maurer_and_pontil() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5])
    log_term = math.log(2.0 / 0.05)
    variance = ((0.625**2) + 2 * 0.375**2 + 0.125**2) / 3
    expected = math.sqrt(2 * variance * log_term / 4) + 7 * 3.0 * log_term / (3 * 3)
    assert deviation(values, width=3.0, eta=0.05) == pytest.approx(expected, rel=1e-12)
    assert deviation(values[:1], width=3.0, eta=0.05) == math.inf


def part(context: np.ndarray, weights: np.ndarray, delta: np.ndarray, most: float, share: float) -> Part:
    """Rows of one logger as a part, by way of the sums of a log; the largest loss is 1."""
    log = ScoredLog(
        names=("one",),
        logger=np.zeros(len(delta), dtype=np.int64),
        context=context,
        delta=delta,
        log_propensity=np.full(len(delta), -3.0),
        log_target=np.log(weights) - 3.0,
        max_loss=1.0,
        log_average=None,
        is_greedy=np.ones(len(delta), dtype=bool),
        log_greedy=np.zeros(len(delta)),
    )
    sums = sum_up(log, None, Bounds.of(9.0, np.array([most]), most), np.random.default_rng(0))
    (found,) = parts_of(sums, WeightKind.OWN, 1.0, log.counts, np.array([share]))
    return found


def rows_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return 2.0 * rng.random(count), rng.random(count)


def many(context: list[int], share: float = 1.0, max_weight: float = 2.0) -> Part:
    return part(np.array(context), *rows_of(len(context)), max_weight, share)


def test_one_part_by_hand_with_both_sides_sharing_the_chance() -> None:
    weights, delta = rows_of(4000)
    u = weights * delta
    half = deviation(u, width=2.0, eta=0.025)
    found = bernstein_interval([many(list(range(4000)))], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == pytest.approx((u.mean() - half, u.mean() + half))


def test_contexts_are_the_independent_values() -> None:
    """Two rows a context: half as many values, each the mean of two, as wide as a row's."""
    weights, delta = rows_of(6000)
    values = (weights * delta).reshape(-1, 2).mean(axis=1)
    half = deviation(values, width=2.0, eta=0.025)
    found = bernstein_interval([many(np.repeat(np.arange(3000), 2).tolist())], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))


def test_parts_share_the_chance_so_that_any_shares_hold() -> None:
    first, second = many(list(range(5000)), share=0.3), many(list(range(8000)), share=0.7, max_weight=3.0)
    losses = [np.prod(rows_of(count), axis=0) for count in (5000, 8000)]
    halves = [deviation(u, width=w, eta=0.05 / 4) for u, w in zip(losses, (2.0, 3.0), strict=True)]
    means = [float(u.mean()) for u in losses]
    found = bernstein_interval([first, second], 1.0, 0.95, clipped=False)
    assert found.low == pytest.approx(0.3 * (means[0] - halves[0]) + 0.7 * (means[1] - halves[1]))
    assert found.high == pytest.approx(0.3 * (means[0] + halves[0]) + 0.7 * (means[1] + halves[1]))


def test_clipped_weights_still_bound_the_risk_itself() -> None:
    """Weights of 1 or 9 cut at 2 lose mass; the upper end counts what is lost as the largest loss."""
    rng = np.random.default_rng(1)
    rows = 40_000
    raw = np.where(rng.random(rows) < 0.05, 9.0, 0.55 / 0.95)
    delta = np.where(raw > 5, 0.9, 0.1)
    risk = 0.05 * 9.0 * 0.9 + 0.55 * 0.1
    cut = part(np.arange(rows), np.minimum(raw, 2.0), delta, 2.0, 1.0)
    honest = bernstein_interval([cut], 1.0, 0.95, clipped=True)
    literal = bernstein_interval([cut], 1.0, 0.95, clipped=False)
    assert honest.low <= risk <= honest.high
    assert literal.high < risk


def test_ends_stay_within_the_range_of_the_loss() -> None:
    found = bernstein_interval([many([0, 1, 2])], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == (0.0, 1.0)
