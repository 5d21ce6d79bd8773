"""Logarithmic smoothing and implicit exploration: their bounds over every log of a few rows."""

import math
import re

import numpy as np
import pytest

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.betting import betting_lower_bound
from multilogger.components.estimators.smoothing import (
    Groups,
    SmoothedSums,
    implicit_weights,
    ls_sums,
    mixed_lower_bound,
    smoothings,
)
from tests.components.estimators.every_outcome import every_outcome
from tests.components.estimators.risks import (
    ix_lower_bound,
    ix_sums,
    ls_lower_bound,
)

COUNTS = (4, 5)
TARGET = np.array([0.1, 0.2, 0.7])
LOGGERS = np.array([[0.55, 0.4, 0.05], [0.3, 0.6, 0.1]])
AVERAGE = np.array(COUNTS) / sum(COUNTS) @ LOGGERS
REWARD = np.array([0.2, 0.0, 1.0])
VALUE = float(TARGET @ REWARD)
LOGGER = np.repeat([0, 1], COUNTS)
ETAS = (0.05, 0.7)


def denominators(average: bool) -> Vector:
    """h_0 of each row and action: (n, 3)."""
    return np.broadcast_to(AVERAGE, (sum(COUNTS), 3)) if average else LOGGERS[LOGGER]


@pytest.mark.parametrize("average", [False, True], ids=["naive", "balanced"])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_bounds_fail_no_more_often_than_they_may(average: bool, scale: float) -> None:
    """Over every log of nine rows: the exact chance of failure, and the expectation that it comes from."""
    table, rows = denominators(average), np.arange(sum(COUNTS))
    failed = {eta: np.zeros(4) for eta in ETAS}
    wealth, total = np.zeros(2), 0.0
    for actions, orders in every_outcome(COUNTS, 3):
        chance = orders * float(np.prod(LOGGERS[LOGGER, actions]))
        log_target, log_propensity = np.log(TARGET[actions]), np.log(table[rows, actions])
        weights, rewards = np.exp(log_target - log_propensity), REWARD[actions]
        both = ls_sums(weights * rewards, scale), ix_sums(log_target, log_propensity, rewards, 0.5 / scale)
        assert both[0].rate == pytest.approx(both[1].rate)
        assert both[1].value <= both[0].value + 1e-12
        wealth += [chance * math.exp(one.rate * one.total) for one in both]
        total += chance
        for eta in ETAS:
            bounds = [one.lower_bound(eta) for one in both]
            bounds.append(ls_lower_bound(weights, rewards, eta) if scale < 1 else bounds[0])
            bounds.append(
                ix_lower_bound(log_target, log_propensity, rewards, eta) if scale < 1 else bounds[1]
            )
            failed[eta] += chance * (np.array(bounds) > VALUE)
    assert total == pytest.approx(1.0)
    most = (1.0 + both[0].rate * VALUE) ** sum(COUNTS)
    assert wealth[1] < wealth[0] <= most * (1 + 1e-12)
    if not average:
        assert wealth[0] == pytest.approx(most)  # every row has the expectation V
    for eta in ETAS:
        assert (failed[eta] <= eta).all()
    assert failed[0.7][:3].min() > 0  # they can fail


def test_rows_of_one_context_count_as_one_value() -> None:
    """200 logs of 40 contexts with 1 or 11 rows: rows as if independent fail too often, contexts do not."""
    rng, eta, logs = np.random.default_rng(0), 0.2, 200
    failed = np.zeros(4)
    for _ in range(logs):
        kind = rng.random(40) < 0.5  # contexts of one kind give the reward 1 to every action, the others 0
        context = np.repeat(np.arange(40), np.where(np.arange(40) % 2, 1, 11))
        rewards, log_h = kind[context].astype(float), np.full(len(context), math.log(0.5))
        weights, groups = np.ones(len(context)), Groups.of(context)
        failed += [
            ls_lower_bound(weights, rewards, eta, 2.0, groups) > 0.5,
            ix_lower_bound(log_h, log_h, rewards, eta, 0.25, groups) > 0.5,
            ls_lower_bound(weights, rewards, eta, groups=groups) > 0.5,
            ls_lower_bound(weights, rewards, eta, 2.0) > 0.5,
        ]
    assert (failed[:3] <= eta * logs).all()
    assert failed[3] > eta * logs


def test_ix_of_contexts_may_have_more_rows_than_others() -> None:
    groups = Groups.of(np.array([7, 7, 7, 9]))
    found = ix_sums(np.zeros(4), np.zeros(4), np.array([1.0, 1.0, 0.0, 1.0]), 0.5, groups)
    assert (found.rate, found.count) == (1.0 / 1.5, 2)
    assert found.total == pytest.approx(0.5 * 2.0 / 1.5 + 0.5 / 1.5)


def test_sums_of_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    weights, rewards = rng.exponential(size=50), rng.random(50)
    whole = ls_sums(weights * rewards, 7.0)
    parts = ls_sums(weights[:20] * rewards[:20], 7.0) + ls_sums(weights[20:] * rewards[20:], 7.0)
    assert parts.total == pytest.approx(whole.total)
    assert parts.lower_bound(0.05) == pytest.approx(whole.lower_bound(0.05))
    with pytest.raises(BadInput, match=re.escape("sums of one smoothing can be added, got rates 0.5 and 1")):
        SmoothedSums(0.5, 1, 0.0) + SmoothedSums(1.0, 1, 0.0)


def test_a_mixture_is_near_its_best_smoothing() -> None:
    """As near to the mean as betting, whose products are the same at M = m (1 - f) / f."""
    values = np.random.default_rng(2).exponential(size=2000).clip(max=20.0)
    single = [ls_lower_bound(values, np.ones(2000), 0.05, float(m)) for m in smoothings(2000)]
    mixed = ls_lower_bound(values, np.ones(2000), 0.05)
    bet = betting_lower_bound(values, 0.0, 0.05)
    assert max(single) - 0.02 < mixed <= max(single) < values.mean()
    assert mixed == pytest.approx(bet, abs=0.02)
    assert mixed_lower_bound([ls_sums(values, 9.0)], 0.05) == pytest.approx(
        ls_sums(values, 9.0).lower_bound(0.05)
    )


def test_large_weights_and_small_propensities_stay_finite() -> None:
    assert ls_lower_bound(np.full(100, 1e300), np.ones(100), 0.05) > 1e200
    tiny = np.array([-2000.0, -1000.0])
    np.testing.assert_allclose(implicit_weights(tiny, tiny, 0.1), 0.0)
    np.testing.assert_allclose(implicit_weights(np.zeros(2), tiny, 0.1), 10.0)


def test_nothing_is_said_of_nothing() -> None:
    none = np.empty(0)
    assert ls_lower_bound(none, none, 0.05) == 0.0
    assert ix_lower_bound(none, none, none, 0.05) == 0.0
    assert ls_lower_bound(np.zeros(5), np.ones(5), 0.05) == 0.0


def test_what_it_refuses() -> None:
    one = np.ones(2)
    with pytest.raises(BadInput, match=re.escape("must lie between 0 and 1, got 1")):
        ls_lower_bound(one, one, 1)
    with pytest.raises(BadInput, match=re.escape("rewards must lie in [0, 1], got -1 to 2")):
        ls_lower_bound(one, np.array([-1.0, 2.0]), 0.05)
    with pytest.raises(BadInput, match=re.escape("needs weights of at least 0, got -1")):
        ls_lower_bound(-one, one, 0.05)
    with pytest.raises(BadInput, match=re.escape("smoothing must be above 0, got 0.0")):
        ls_lower_bound(one, one, 0.05, 0.0)
