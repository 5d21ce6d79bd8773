"""Intervals, p-values and Holm's correction against values worked by hand."""

import pytest

from multilogger.components.reproduction.statistics import holm, mean_over_seeds, p_value, slope


def test_interval_by_hand() -> None:
    """1, 2, 3, 4, 5: mean 3, s = sqrt(2.5), t(0.975, 4) = 2.7764451, half = 2.7764451 sqrt(2.5 / 5)."""
    sample = mean_over_seeds([1.0, 2.0, 3.0, 4.0, 5.0])
    assert sample.count == 5
    assert sample.mean == pytest.approx(3.0)
    assert sample.low == pytest.approx(3 - 1.9632432, abs=1e-6)
    assert sample.high == pytest.approx(3 + 1.9632432, abs=1e-6)


def test_one_number_has_a_mean_and_no_interval() -> None:
    assert mean_over_seeds([2.0, 3.0]).told(3) == ""
    assert mean_over_seeds([2.0, 3.0, 4.0]).told(3) == " ± 2.484"
    sample = mean_over_seeds([2.5])
    assert (sample.mean, sample.low, sample.high, sample.half_width) == (2.5, None, None, None)
    assert p_value(sample, 0.0) is None


def test_nothing_has_no_mean() -> None:
    sample = mean_over_seeds([])
    assert (sample.count, sample.mean, sample.low) == (0, None, None)
    assert p_value(sample, 0.0) is None


def test_p_by_hand() -> None:
    """Two numbers: one degree of freedom, where t is Cauchy: t = 1 has p = 1/2, t = sqrt(3) has p = 1/3."""
    assert p_value(mean_over_seeds([0.0, 2.0]), 0.0) == pytest.approx(0.5)
    assert p_value(mean_over_seeds([3**0.5 - 1, 3**0.5 + 1]), 0.0) == pytest.approx(1 / 3)


def test_p_is_a_twentieth_at_the_end_of_the_interval() -> None:
    sample = mean_over_seeds([0.3, 0.9, 0.4, 1.1])
    assert sample.low is not None
    assert p_value(sample, sample.low) == pytest.approx(0.05)


def test_equal_numbers_leave_no_doubt() -> None:
    assert p_value(mean_over_seeds([2.0, 2.0, 2.0]), 2.0) == 1.0
    assert p_value(mean_over_seeds([2.0, 2.0, 2.0]), 1.0) == 0.0


def test_holm_by_hand() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, then 0.06 because p never falls."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_slope_by_hand() -> None:
    assert slope([0, 1, 2], [1.0, 3.0, 2.0]) == pytest.approx(0.5)
