"""Divergences from one logger in closed form, and from the average logger by enumeration."""

import math
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import Labels, all_actions, log_probability_table
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators import divergences
from multilogger.components.estimators.divergences import (
    PolicyDivergence,
    average_divergence,
    enumerated_average_divergence,
    exact_divergence,
    harmonic_divergence_bound,
)
from tests.components.estimators.risks import (
    average_divergence_bound,
)

SPACE = Labels(3)
COUNTS = np.array([300.0, 100.0])


def draw_logits(seed: int, n: int, q: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, q))


@pytest.mark.parametrize("q", [1, 3, 10])
def test_closed_form_equals_enumeration(q: int) -> None:
    h, h_j = draw_logits(1, 20, q), draw_logits(2, 20, q)
    actions = all_actions(q)
    p, p_j = np.exp(log_probability_table(h, actions)), np.exp(log_probability_table(h_j, actions))
    divergence = exact_divergence(SPACE, h, h_j)
    assert divergence.d2 == pytest.approx((p**2 / p_j).sum(axis=1).mean(), rel=1e-11)
    assert divergence.d_f == pytest.approx(divergence.d2 - 1, rel=1e-11)
    assert math.exp(divergence.log_max_ratio) == pytest.approx((p / p_j).max(), rel=1e-11)


def test_average_logger_by_enumeration() -> None:
    h, loggers = draw_logits(1, 600, 3), [draw_logits(2, 600, 3), draw_logits(3, 600, 3)]
    actions = all_actions(3)
    p = np.exp(log_probability_table(h, actions))
    average = sum(
        share * np.exp(log_probability_table(logger, actions))
        for share, logger in zip([0.75, 0.25], loggers, strict=True)
    )
    divergence = enumerated_average_divergence(SPACE, h, loggers, COUNTS)
    assert divergence.d2 == pytest.approx(np.mean((p**2 / average).sum(axis=1)), rel=1e-11)
    assert math.exp(divergence.log_max_ratio) == pytest.approx((p / average).max(), rel=1e-11)


def test_many_actions_are_enumerated_in_lots_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the actions take no more memory beside the tables that were given."""
    monkeypatch.setattr(divergences, "BLOCK_NUMBERS", 20_000)
    peaks = []
    for actions in (200, 800):
        space, (h, *loggers) = OneOf(actions), (draw_logits(seed, 300, actions) for seed in range(4))
        tracemalloc.start()
        exact = enumerated_average_divergence(space, h, loggers, np.ones(3))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        (average,), _ = space.averaged(loggers, np.ones(3))  # a policy itself
        assert exact.log_d2 == pytest.approx(exact_divergence(space, h, average).log_d2, rel=1e-9)
    assert peaks[1] < 1.2 * peaks[0]


def test_average_of_equal_loggers_is_that_logger() -> None:
    h, logger = draw_logits(1, 30, 4), draw_logits(2, 30, 4)
    alone = exact_divergence(SPACE, h, logger)
    both = enumerated_average_divergence(SPACE, h, [logger, logger], COUNTS)
    assert both.log_d2 == pytest.approx(alone.log_d2, rel=1e-11)
    assert both.log_max_ratio == pytest.approx(alone.log_max_ratio, rel=1e-11)
    bound = average_divergence_bound([alone, alone], COUNTS)
    assert bound.log_d2 == pytest.approx(alone.log_d2, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_upper_bounds_of_the_average_logger_hold(seed: int) -> None:
    h, loggers = draw_logits(seed, 30, 5), [draw_logits(seed + 100, 30, 5), draw_logits(seed + 200, 30, 5)]
    parts = [exact_divergence(SPACE, h, logger) for logger in loggers]
    bound = average_divergence_bound(parts, COUNTS)
    exact = enumerated_average_divergence(SPACE, h, loggers, COUNTS)
    assert bound.d2 == pytest.approx(0.75 * parts[0].d2 + 0.25 * parts[1].d2, rel=1e-12)
    tighter = harmonic_divergence_bound(SPACE, h, loggers, COUNTS)
    assert 1 < exact.d2 < tighter.d2 < bound.d2
    assert exact.log_max_ratio < tighter.log_max_ratio < bound.log_max_ratio


def test_one_close_logger_keeps_the_harmonic_bound_small() -> None:
    h, far = draw_logits(1, 30, 8), draw_logits(2, 30, 8) * 20
    exact = enumerated_average_divergence(SPACE, h, [h, far], COUNTS)
    tighter = harmonic_divergence_bound(SPACE, h, [h, far], COUNTS)
    # d_2 of the close logger is 1, so both are at most n / n_j = 400 / 300.
    assert exact.d2 <= tighter.d2 <= 4 / 3 + 1e-12
    assert exact.log_max_ratio - 1e-12 <= tighter.log_max_ratio <= math.log(4 / 3) + 1e-12
    assert (
        average_divergence_bound([exact_divergence(SPACE, h, h), exact_divergence(SPACE, h, far)], COUNTS).d2
        > 1e6
    )


def test_harmonic_bound_worked_by_hand() -> None:
    h, loggers = np.array([[0.0]]), [np.array([[0.0]]), np.array([[math.log(9.0)]])]
    # d_2 is 1 and 25/9, the largest ratio 1 and 5: 1 / (0.75 + 0.25 * 9/25) and 1 / (0.75 + 0.25 / 5)
    bound = harmonic_divergence_bound(SPACE, h, loggers, COUNTS)
    assert bound.d2 == pytest.approx(1 / 0.84)
    assert math.exp(bound.log_max_ratio) == pytest.approx(1 / 0.8)


@pytest.mark.parametrize(("q", "way"), [(12, enumerated_average_divergence), (13, harmonic_divergence_bound)])
def test_average_logger_is_exact_as_long_as_all_actions_can_be_listed(
    q: int, way: Callable[[ActionSpace, Matrix, list[Matrix], Vector], PolicyDivergence]
) -> None:
    h, loggers = draw_logits(1, 3, q), [draw_logits(2, 3, q), draw_logits(3, 3, q)]
    assert average_divergence(Labels(q), h, loggers, COUNTS) == way(Labels(q), h, loggers, COUNTS)


def test_extreme_policies_stay_in_logs() -> None:
    far = exact_divergence(Labels(2), np.full((2, 3), 400.0), np.full((2, 3), -400.0))
    assert far.log_d2 == pytest.approx(1200.0)
    assert (far.d2, far.d_f) == (math.inf, math.inf)
    same = exact_divergence(Labels(2), np.full((2, 3), 400.0), np.full((2, 3), 400.0))
    assert (same.d2, same.d_f, same.log_max_ratio) == (1.0, 0.0, 0.0)


def test_a_context_mean_is_not_the_exponential_of_a_mean_of_logs() -> None:
    h, h_j = np.array([[0.0], [0.0]]), np.array([[0.0], [math.log(9.0)]])
    # d_2 is 1 in the first context and (1/4)/(9/10) + (1/4)/(1/10) = 25/9 in the second.
    assert exact_divergence(SPACE, h, h_j).d2 == pytest.approx((1 + 25 / 9) / 2)
    assert exact_divergence(SPACE, h, h_j).log_max_ratio == pytest.approx(math.log(5.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: enumerated_average_divergence(
                Labels(2), np.zeros((1, 13)), [np.zeros((1, 13))], np.ones(1)
            ),
            "all actions can be listed for 1 to 12 labels, got 13; sample actions instead",
        ),
        (
            lambda: enumerated_average_divergence(
                Labels(2), np.zeros((1, 2)), [np.zeros((1, 2))], np.ones(2)
            ),
            "h_avg needs one log propensity a logger, got 1 columns for 2 loggers; "
            "log all of them in each row",
        ),
        (
            lambda: exact_divergence(Labels(2), np.zeros((1, 2)), np.zeros((1, 3))),
            "policy and logger must have the same rows and labels, got (1, 2) and (1, 3); "
            "take the logits of both on the same contexts",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
