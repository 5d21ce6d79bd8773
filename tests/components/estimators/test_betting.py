"""Bounds by betting: they hold, whatever the tail, and they come near where there are many values."""

import re

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.estimators.betting import betting_lower_bound


def test_it_holds_for_a_tail_that_is_hardly_seen() -> None:
    """200 logs of values that are nearly always -1 and rarely 49, of mean 0."""
    rng, eta = np.random.default_rng(0), 0.05
    logs = [np.where(rng.random(100) < 0.02, 49.0, -1.0) for _ in range(200)]
    failed = sum(betting_lower_bound(values, -1.0, eta) > 0 for values in logs)
    assert failed <= 10


def test_it_holds_on_the_other_side_too() -> None:
    """Mostly a small gain, rarely a large loss: the normal bound is above the mean in a third of the logs."""
    rng, normal, betting = np.random.default_rng(1), 0, 0
    for _ in range(200):
        values = np.where(rng.random(100) < 0.01, -9.9, 0.1)
        normal += values.mean() - 1.645 * values.std(ddof=1) / 10.0 > 0
        betting += betting_lower_bound(values, -9.9, 0.05) > 0
    assert normal > 40
    assert betting <= 10


def test_it_comes_near_the_mean() -> None:
    values = np.random.default_rng(2).uniform(-1.0, 1.5, size=20_000)
    found = betting_lower_bound(values, -1.0, 0.05)
    assert 0.2 < found < 0.25


@pytest.mark.parametrize("values", [[], [-2.0, -2.0], [-2.0]])
def test_little_is_said_of_little(values: list[float]) -> None:
    assert betting_lower_bound(np.array(values), -2.0, 0.05) == pytest.approx(-2.0)


def test_what_it_refuses() -> None:
    with pytest.raises(BadInput, match=re.escape("must lie between 0 and 1, got 0")):
        betting_lower_bound(np.zeros(3), -1.0, 0)
    with pytest.raises(
        BadInput, match=re.escape("no value may lie below `least`, which is at most 0; got -1")
    ):
        betting_lower_bound(np.array([-3.0]), -1.0, 0.05)
