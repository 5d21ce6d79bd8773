"""Empirical-Bernstein intervals by hand."""

import math

import numpy as np
import pytest

from multilogger.components.evaluation.intervals import Part, bernstein_interval, deviation


def test_deviation_is_the_formula_of_maurer_and_pontil() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5])
    log_term = math.log(2.0 / 0.05)
    variance = ((0.625**2) + 2 * 0.375**2 + 0.125**2) / 3
    expected = math.sqrt(2 * variance * log_term / 4) + 7 * 3.0 * log_term / (3 * 3)
    assert deviation(values, width=3.0, eta=0.05) == pytest.approx(expected, rel=1e-12)
    assert deviation(values[:1], width=3.0, eta=0.05) == math.inf


def many(context: list[int], share: float = 1.0, max_weight: float = 2.0) -> Part:
    rng = np.random.default_rng(0)
    rows = len(context)
    return Part(np.array(context), 2.0 * rng.random(rows), rng.random(rows), max_weight, share)


def test_one_part_by_hand_with_both_sides_sharing_the_chance() -> None:
    part = many(list(range(4000)))
    u = part.weights * part.delta
    half = deviation(u, width=2.0, eta=0.025)
    found = bernstein_interval([part], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == pytest.approx((u.mean() - half, u.mean() + half))


def test_contexts_are_the_independent_values() -> None:
    """Two rows a context: half as many values, each the mean of two, as wide as a row's."""
    part = many(np.repeat(np.arange(3000), 2).tolist())
    values = (part.weights * part.delta).reshape(-1, 2).mean(axis=1)
    half = deviation(values, width=2.0, eta=0.025)
    found = bernstein_interval([part], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))


def test_parts_share_the_chance_so_that_any_shares_hold() -> None:
    first, second = many(list(range(5000)), share=0.3), many(list(range(8000)), share=0.7, max_weight=3.0)
    halves = [deviation(p.weights * p.delta, width=w, eta=0.05 / 4) for p, w in ((first, 2.0), (second, 3.0))]
    means = [float(np.mean(p.weights * p.delta)) for p in (first, second)]
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
    part = Part(np.arange(rows), np.minimum(raw, 2.0), delta, 2.0, 1.0)
    honest = bernstein_interval([part], 1.0, 0.95, clipped=True)
    literal = bernstein_interval([part], 1.0, 0.95, clipped=False)
    assert honest.low <= risk <= honest.high
    assert literal.high < risk


def test_ends_stay_within_the_range_of_the_loss() -> None:
    found = bernstein_interval([many([0, 1, 2])], 1.0, 0.95, clipped=False)
    assert (found.low, found.high) == (0.0, 1.0)
