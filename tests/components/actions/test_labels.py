"""Policies against sums over all actions and values worked by hand."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logit

from multilogger.components.actions.arrays import Matrix, row_blocks
from multilogger.components.actions.label_losses import (
    expected_hamming,
    expected_label_sum,
    expected_neighbours,
    hamming,
)
from multilogger.components.actions.labels import (
    Labels,
    all_actions,
    draw,
    greedy,
    is_action,
    log_d2,
    log_max_ratio,
    log_probability,
    log_probability_at,
    log_probability_of_all,
    log_probability_slope,
    log_probability_table,
    logits_of,
    marginals,
    pair_scores,
    sample,
)
from multilogger.components.errors import BadInput
from multilogger.components.learners.loss_models.form import AdditiveForm, additive_loss


def draw_logits(seed: int, n: int, q: int) -> Matrix:
    return np.random.default_rng(seed).normal(scale=1.5, size=(n, q))


def test_values_worked_by_hand() -> None:
    h = logit(np.array([[0.5, 0.8]]))
    h_j = logit(np.array([[0.25, 0.5]]))
    y = np.array([[1, 0]], dtype=np.uint8)
    assert log_probability(h, y) == pytest.approx([math.log(0.5 * 0.2)])
    # (0.25/0.25 + 0.25/0.75) (0.64/0.5 + 0.04/0.5) = 4/3 * 1.36
    assert np.exp(log_d2(h, h_j)) == pytest.approx([4 / 3 * 1.36])
    # max(2, 2/3) max(1.6, 0.4)
    assert np.exp(log_max_ratio(h, h_j)) == pytest.approx([3.2])
    assert expected_hamming(h, y) == pytest.approx([0.5 + 0.8])
    assert greedy(h).tolist() == [[0, 1]]
    assert hamming(y, greedy(h)).tolist() == [2.0]


@pytest.mark.parametrize("q", [1, 2, 5, 10])
def test_closed_forms_equal_sums_over_all_actions(q: int) -> None:
    h, h_j = draw_logits(1, 4, q), draw_logits(2, 4, q)
    actions = all_actions(q)
    p, p_j = np.exp(log_probability_table(h, actions)), np.exp(log_probability_table(h_j, actions))
    assert p.sum(axis=1) == pytest.approx(np.ones(4), rel=1e-12)
    assert np.exp(log_d2(h, h_j)) == pytest.approx((p**2 / p_j).sum(axis=1), rel=1e-11)
    assert np.exp(log_max_ratio(h, h_j)) == pytest.approx((p / p_j).max(axis=1), rel=1e-11)
    truth = actions[[0, -1, 1, 0]]
    losses = (actions[None] != truth[:, None]).sum(axis=2)
    assert expected_hamming(h, truth) == pytest.approx((p * losses).sum(axis=1), rel=1e-12)
    level, effects = draw_logits(3, 4, q), draw_logits(4, 4, q)
    sums = (level[:, None] + actions * effects[:, None]).sum(axis=2)
    assert expected_label_sum(h, level, effects) == pytest.approx((p * sums).sum(axis=1), rel=1e-11)


@pytest.mark.parametrize("q", [3, 5])
def test_expected_neighbours_equal_the_sum_over_all_actions(q: int) -> None:
    h, actions = draw_logits(1, 4, q), all_actions(q)
    p = np.exp(log_probability_table(h, actions))
    together = (actions * np.roll(actions, -1, axis=1)).sum(axis=1)
    assert expected_neighbours(h) == pytest.approx(p @ together, rel=1e-12)


def test_slope_of_log_probability_equals_differences() -> None:
    h, y, step = draw_logits(1, 4, 3), all_actions(3)[[0, 3, 5, 7]], 1e-6
    slope = log_probability_slope(marginals(h), y)
    for label in range(3):
        moved = step * np.eye(3)[label]
        difference = (log_probability(h + moved, y) - log_probability(h - moved, y)) / (2 * step)
        assert slope[:, label] == pytest.approx(difference, abs=1e-8)


def test_pair_scores_are_uncorrelated_with_sums_over_labels() -> None:
    h, actions = draw_logits(1, 1, 3), all_actions(3)
    p, chance = np.tile(marginals(h), (8, 1)), np.exp(log_probability_of_all(h))[0]
    scores = pair_scores(p, actions, np.array([[0, 1], [1, 2]]))
    sums = actions @ np.array([1.0, -2.0, 5.0]) + 3.0
    assert np.abs(chance @ (scores * sums[:, None])).max() < 1e-15
    together = actions[:, 0] * actions[:, 1]
    assert abs(chance @ (scores[:, 0] * together)) > 0.01


def test_draws_are_those_of_the_generator() -> None:
    h = draw_logits(1, 5, 3)
    uniforms = np.random.default_rng(4).random(h.shape)
    assert (draw(h, np.random.default_rng(4)) == sample(h, uniforms)).all()


def test_rows_that_are_actions() -> None:
    assert is_action(np.array([[0.0, 1.0], [0.5, 1.0], [np.nan, 0.0], [1.0, 1.0]])).tolist() == [
        *(True, False, False, True)
    ]


def test_all_actions_can_be_listed_up_to_twelve_labels() -> None:
    assert Labels(12).can_list_actions()
    assert not Labels(13).can_list_actions()


def test_logits_of_marginals_come_back_and_stay_finite() -> None:
    h = draw_logits(1, 4, 3)
    assert logits_of(marginals(h)) == pytest.approx(h, rel=1e-9)
    assert logits_of(np.array([[0.0, 1.0]]), 1e-3) == pytest.approx(logit([[1e-3, 1 - 1e-3]]))


def test_table_agrees_with_log_probability() -> None:
    h, actions = draw_logits(3, 8, 3), all_actions(3)
    assert np.diag(log_probability_table(h, actions)) == pytest.approx(log_probability(h, actions), rel=1e-13)


def test_all_actions_are_distinct_and_count_in_binary() -> None:
    actions = all_actions(12)
    assert actions.shape == (4096, 12)
    assert (actions @ (1 << np.arange(12))).tolist() == list(range(4096))


def test_saturated_logits_stay_finite() -> None:
    h, h_j = np.array([[800.0, -800.0]]), np.array([[-800.0, -800.0]])
    # p = 1 where q = e^-800: the first label contributes log(1/q) = 800, the second nothing.
    assert log_d2(h, h_j) == pytest.approx([800.0])
    assert log_max_ratio(h, h_j) == pytest.approx([800.0])
    assert log_probability(h, np.array([[0, 0]], dtype=np.uint8)) == pytest.approx([-800.0])


def test_a_policy_does_not_diverge_from_itself() -> None:
    h = draw_logits(4, 50, 14) * 10
    assert np.all(log_d2(h, h) >= 0)
    assert log_d2(h, h) == pytest.approx(np.zeros(50), abs=1e-13)


def test_samples_follow_the_marginals() -> None:
    h = np.tile(logit(np.array([[0.1, 0.5, 0.9]])), (20_000, 1))
    y = sample(h, np.random.default_rng(0).random(h.shape))
    assert y.mean(axis=0) == pytest.approx(marginals(h)[0], abs=0.012)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: log_probability(np.zeros((2, 3)), np.zeros((2, 4), dtype=np.uint8)),
            "policy and labels must have the same rows and labels, got (2, 3) and (2, 4); "
            "were they made from the same dataset?",
        ),
        (
            lambda: log_d2(np.zeros((2, 3)), np.zeros((2, 4))),
            "policy and logger must have the same rows and labels, got (2, 3) and (2, 4); "
            "take the logits of both on the same contexts",
        ),
        (
            lambda: log_max_ratio(np.zeros((1, 3)), np.zeros((2, 3))),
            "policy and logger must have the same rows and labels, got (1, 3) and (2, 3); "
            "take the logits of both on the same contexts",
        ),
        (
            lambda: log_probability_table(np.zeros((2, 3)), all_actions(2)),
            "policy and actions must have the same labels, got 3 and 2; "
            "were they made from the same dataset?",
        ),
        (
            lambda: all_actions(13),
            "all actions can be listed for 1 to 12 labels, got 13; sample actions instead",
        ),
        (
            lambda: all_actions(0),
            "all actions can be listed for 1 to 12 labels, got 0; sample actions instead",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize(("rows", "labels"), [(0, 3), (1, 3), (5000, 40), (700, 374), (3, 200_000)])
def test_rows_in_blocks_are_all_rows_once(rows: int, labels: int) -> None:
    """A row's bits do not depend on the block that it is in."""
    found = [row for block in row_blocks(rows, labels) for row in range(rows)[block]]
    assert found == list(range(rows))
    if labels < 1000 and rows:
        logits, rng = draw_logits(0, 50, labels), np.random.default_rng(1)
        context, y = rng.integers(0, 50, rows), (rng.random((rows, labels)) < 0.3).astype(np.uint8)
        last = slice(rows - 1, rows)
        whole, part = (log_probability_at(logits, context[k], y[k]) for k in (slice(None), last))
        np.testing.assert_array_equal(whole[last], part)
        p = marginals(logits)
        by_row = AdditiveForm().logged(p, context, y)
        np.testing.assert_array_equal(by_row, additive_loss(p[context], y))
