"""The time of a row as features: rows of one time have the same ones, whatever the order of rows."""

import numpy as np
import pytest

from multilogger.components.propensities.time import later_hats, time_columns, time_hats
from tests.components.propensities.simulated import simulate, uniform

DAYS = np.repeat(np.array([1.0, 2.0, 3.0]), 400)


def test_hats_are_by_rank() -> None:
    hats = time_columns(np.array([3, 1, 2]), knots=3)
    np.testing.assert_allclose(hats[:], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_later_rows_are_ranked_among_the_known_ones() -> None:
    known = np.array([10.0, 20.0, 30.0, 30.0, 50.0])
    hats = later_hats(np.array([10.0, 50.0, 30.0, 99.0, -1.0]), known, knots=3)[:]
    expected = np.array([[1, 0, 0], [0, 0, 1], [0, 0.75, 0.25], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(hats, expected)


@pytest.mark.parametrize("time", [DAYS, DAYS.astype("datetime64[D]"), np.ones(5), np.array([7.0])])
def test_rows_of_one_time_stand_at_one_place_as_later_rows_do(time: np.ndarray) -> None:
    place = time_hats(time).place
    for one in np.unique(time):
        assert len(np.unique(place[time == one])) == 1
    np.testing.assert_array_equal(place, later_hats(time, np.sort(time)).place)


def test_order_of_rows_within_a_day_tells_nothing_of_the_action() -> None:
    """A coin's rows, written by day and action."""
    log = simulate([uniform(2)], len(DAYS), seed=4, size=2)
    order = np.lexsort((log.action, DAYS))
    log = type(log)(log.x[order], log.context, log.action[order], log.logger, log.table, log.space)
    done = log.complete(extra=time_columns(DAYS))
    assert np.exp(done.log_propensities).mean() == pytest.approx(0.5, abs=0.02)
