"""A policy against its loggers where clicks are rare: chance is not told as a finding."""

import math

import numpy as np
import pytest

from multilogger.components.evaluation.context_sums import ScoredLog
from multilogger.components.own_log.against_loggers import AgainstLoggers, Figure, _apart, against_loggers

ROWS, ACTIONS = 2000, 20


def scored(rate: float, seed: int) -> ScoredLog:
    """Two uniform loggers; a policy that nearly always takes one of the actions, which are all alike."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, ACTIONS, ROWS) == 0
    likely = np.log(np.where(chosen, 0.981, 0.001))
    uniform = np.full(ROWS, -math.log(ACTIONS))
    return ScoredLog(
        names=("new", "old"), logger=rng.integers(0, 2, ROWS), context=np.arange(ROWS),
        delta=np.where(rng.random(ROWS) < rate, 0.0, 1.0), max_loss=1.0,
        log_propensity=uniform, log_target=likely, log_average=uniform,
        is_greedy=chosen, log_greedy=np.full(ROWS, math.log(0.981)),
    )  # fmt: skip


def compared(rate: float, seed: int) -> AgainstLoggers:
    return against_loggers(scored(rate, seed), 0, 200, 0.95, np.random.default_rng(seed))


def test_a_policy_that_saw_no_click_is_not_worse_for_that() -> None:
    """All actions are alike, so that no difference is right; the bootstrap alone tells one in most logs."""
    told = [one for seed in range(20) for one in compared(0.008, seed).differences if one.low * one.high > 0]
    assert len(told) <= 2  # of 40


def test_intervals_are_those_of_few_events() -> None:
    found, log = compared(0.008, 3), scored(0.008, 3)
    for one, own in zip(found.loggers, (log.logger == 0, log.logger == 1), strict=True):
        clicks, rows = int((1 - log.delta[own]).sum()), int(own.sum())
        assert 0 < clicks < 20
        low, high = 1 - one.high, 1 - one.low  # at least the exact interval of a Poisson count
        assert low <= clicks / rows * (1 - 1.96 / math.sqrt(clicks)) + 0.002
        assert high >= (clicks + 1.96 * math.sqrt(clicks)) / rows
    for one, difference in zip(found.loggers, found.differences, strict=True):
        assert difference.low <= found.policy.value - one.value - math.hypot(
            found.policy.value - found.policy.low, one.high - one.value
        )


def test_many_events_leave_the_bootstrap_alone() -> None:
    """Half of the rows have a click."""
    often = compared(0.5, 0)
    assert 0.05 < often.differences[0].high - often.differences[0].low < 0.5


@pytest.mark.parametrize(
    ("drawn", "low", "high"), [((0.18, 0.22), 0.15, 0.33), ((0.1, 0.5), 0.1, 0.5), ((0.16, 0.5), 0.15, 0.5)]
)
def test_a_difference_by_hand(drawn: tuple[float, float], low: float, high: float) -> None:
    """0.6 (0.57 to 0.72) minus 0.4 (0.35 to 0.44): 0.2 - hypot(3, 4) / 100 to 0.2 + hypot(12, 5) / 100."""
    found = _apart(Figure(0.6, 0.57, 0.72), Figure(0.4, 0.35, 0.44), Figure(0.2, *drawn))
    assert (found.low, found.high) == pytest.approx((low, high))
