"""Intervals that rest on few events."""

import numpy as np
import pytest
from scipy.stats import chi2

import multilogger as ml
from multilogger.components.evaluation.context_sums import ScoredLog
from multilogger.components.evaluation.evaluation import EstimateRow
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.log_sums import LogSums, LossOrGain, sum_up
from multilogger.components.evaluation.max_weights import bounds_of
from multilogger.components.evaluation.point_estimates import Estimators
from multilogger.components.evaluation.rare_events import (
    RareEvents,
    WeighedEvents,
    event_sums,
    find_rare,
    weigh_events,
    widened,
)


def sums_of(delta: np.ndarray, weights: np.ndarray, context: np.ndarray) -> LogSums:
    rows = len(delta)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    log = ScoredLog(
        names=("one",),
        logger=np.zeros(rows, dtype=np.int64),
        context=context,
        delta=delta,
        log_propensity=np.full(rows, -5.0),
        log_target=log_weights - 5.0,
        max_loss=1.0,
        log_average=None,
        is_greedy=np.ones(rows, dtype=bool),
        log_greedy=np.zeros(rows),
    )
    return sum_up(log, None, bounds_of(9.0, 1, None), np.random.default_rng(0))


def weighed(delta: np.ndarray, weights: np.ndarray, context: np.ndarray | None = None) -> WeighedEvents:
    """Clicks, which are rows without a loss."""
    rows = len(delta)
    sums = sums_of(delta, weights, np.arange(rows) if context is None else context)
    estimators = Estimators(np.array([float(rows)]), balanced=False, dr=False)
    events = RareEvents(LossOrGain.GAIN, int(np.sum(delta < 1)), 1.0)
    return weigh_events(event_sums("naive-sn", sums, estimators, {}, events), 0.95)


def clicks(rows: int, count: int) -> np.ndarray:
    return (np.arange(rows) >= count).astype(float)


def test_with_weights_of_one_it_is_the_exact_interval_of_a_poisson_count() -> None:
    """46 events: 33.68 to 61.36, and none: 0 to 3.689, as tables of the Poisson distribution have them."""
    found = weighed(clicks(10_000, 46), np.ones(10_000))
    assert found.mean == pytest.approx(0.0046)
    assert found.effective == pytest.approx(46)
    assert found.low * 10_000 == pytest.approx(33.678, abs=1e-3)
    assert found.high * 10_000 == pytest.approx(61.358, abs=1e-3)
    none = weighed(clicks(10_000, 1), np.r_[0.0, np.ones(9_999)])
    assert (none.low, none.mean, none.effective) == (0.0, 0.0, 0.0)
    assert none.high * 9_999 == pytest.approx(3.689, abs=1e-3)


def test_weights_by_hand() -> None:
    """Events of weights 1 and 3, all weights 1, 3 and 4 zeros: y = 4, v = 10, one more weighs 10 / 4."""
    weights = np.array([1.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    found = weighed(clicks(6, 2), weights)
    assert found.mean == pytest.approx(1.0)
    assert found.effective == pytest.approx(1.6)
    assert found.low == pytest.approx(10 / 8 * chi2.ppf(0.025, 2 * 16 / 10) / 4)
    assert found.high == pytest.approx(16.25 / 13 * chi2.ppf(0.975, 2 * 42.25 / 16.25) / 4)
    together = weighed(clicks(6, 2), weights, np.zeros(6, dtype=np.int64))
    assert together.effective == pytest.approx(1.0)  # of one context, hence one event


def rare(delta: np.ndarray) -> RareEvents | None:
    rows = len(delta)
    return find_rare(sums_of(delta, np.ones(rows), np.arange(rows)), rows, 1.0)


@pytest.mark.parametrize(
    ("delta", "gains", "count"),
    [
        (np.r_[np.zeros(95), np.ones(5)], False, 5),
        (np.r_[np.ones(95), np.zeros(3), 0.5, 0.5], True, 5),
    ],
)
def test_events_are_what_few_rows_have(delta: np.ndarray, gains: bool, count: int) -> None:
    found = rare(delta)
    assert found is not None
    assert (found.gains, found.count) == (gains, count)


@pytest.mark.parametrize("delta", [np.r_[np.zeros(80), np.ones(20)], np.zeros(9), np.full(99, 0.5)])
def test_nothing_is_rare_where_losses_vary_or_never_do(delta: np.ndarray) -> None:
    assert rare(delta) is None


def row(low: float, high: float, value: float = 0.9954) -> EstimateRow:
    return EstimateRow("dr", value, 0.001, Interval(low, high), None, 1.0, 100)


def test_intervals_become_wider_and_never_narrower() -> None:
    events = RareEvents(LossOrGain.GAIN, 46, 1.0)
    few = weighed(clicks(10_000, 46), np.ones(10_000))
    found = widened(row(0.9945, 0.9960), events, few, 1.0).bootstrap
    assert (found.low, found.high) == pytest.approx((1 - 0.0061358, 1 - 0.0033678), abs=1e-6)
    assert widened(row(0.98, 0.999), events, few, 1.0).bootstrap == Interval(0.98, 0.999)
    moved = widened(row(0.9945, 0.9960, value=0.9964), events, few, 1.0).bootstrap
    assert moved.low == pytest.approx(0.9945)
    assert moved.high == pytest.approx(1 - 0.0033678 + 0.001, abs=1e-6)
    enough = weighed(clicks(10_000, 400), np.ones(10_000))
    assert widened(row(0.955, 0.965), events, enough, 1.0) == row(0.955, 0.965)


class Constant:
    """A policy of two actions that does not look."""

    def __init__(self, p: float) -> None:
        self.p = p

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.tile([1.0 - self.p, self.p], (len(x), 1))


def test_a_report_says_that_few_clicks_tell_little() -> None:
    rng = np.random.default_rng(0)
    action = (rng.random(2000) < 0.5).astype(int)
    click = rng.random(2000) < np.where(action == 1, 0.012, 0.008)
    log = ml.BanditLog.from_arrays(
        np.ones((2000, 1)), action, reward=click.astype(float), reward_range=(0, 1),
        propensity=np.full(2000, 0.5),
    )  # fmt: skip
    report = ml.evaluate(Constant(0.9), log, bootstrap=200)
    assert f"only {click.sum()} of 2,000 rows bring a reward, worth" in report.warnings[-1]
    assert "not told apart from the best logger's 0.993" in report.recommendation
    assert report.recommended is not None
    digits = report.recommended.bootstrap.digits
    assert digits == 3
    assert f"by dr {1 - report.recommended.value:.4g} (" in repr(report)
    plenty = ml.BanditLog.from_arrays(
        np.ones((2000, 1)),
        action,
        reward=rng.random(2000),
        reward_range=(0, 1),
        propensity=np.full(2000, 0.5),
    )
    assert not ml.evaluate(Constant(0.9), plenty, bootstrap=200).warnings
