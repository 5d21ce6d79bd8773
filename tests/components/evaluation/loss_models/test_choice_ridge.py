"""The ridge of one-of-K actions: exact under the policy, blind to its fold, right where losses are lines."""

import numpy as np
import pytest

from multilogger.components.actions.one_of import probabilities
from multilogger.components.evaluation.loss_models.choice_ridge import ChoiceRidge
from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows, draw_folds
from tests.components.evaluation.loss_models.choice_rows import (
    ACTIONS,
    CONTEXTS,
    every_action,
    flipped,
    part_of,
    problem,
)

FOLDS = draw_folds(CONTEXTS, np.random.default_rng(1))


def fitted(rows: ModelRows, batch: int = 100) -> ChoiceRidge:
    model = ChoiceRidge(ACTIONS, FOLDS)
    for start in range(0, len(rows.delta), batch):
        model.add(part_of(rows, slice(start, start + batch)))
    model.fit()
    assert model.fitted_rows == len(rows.delta)
    return model


def test_losses_on_a_line_per_action_are_found() -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    logits = rng.normal(size=(n, ACTIONS))
    action, h = rng.integers(0, ACTIONS, n), probabilities(logits)
    level, slope = np.array([0.1, 0.5, 0.3, 0.8]), np.array([0.2, -0.4, 0.6, 0.0])
    rows = ModelRows(
        np.arange(n),
        np.zeros(n, dtype=np.int64),
        logits,
        action,
        level[action] + (slope * h)[np.arange(n), action],
    )
    model = ChoiceRidge(ACTIONS, draw_folds(n, rng))
    model.add(rows)
    model.fit()
    found = model.predict(rows)
    np.testing.assert_allclose(found.q_logged, rows.delta, atol=0.005)
    np.testing.assert_allclose(found.q_target, (h * (level + slope * h)).sum(axis=1), atol=0.005)


def test_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps dr unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    rows = problem()
    found = fitted(rows).predict(every_action(rows, 7))
    h = probabilities(rows.logits[7:8])[0]
    assert float(h @ found.q_logged) == pytest.approx(found.q_target[0], rel=1e-12)


def test_a_fold_is_predicted_without_its_own_losses() -> None:
    rows = problem()
    mine = FOLDS[rows.context] == 1
    before, after = fitted(rows).predict(rows), fitted(flipped(rows, mine)).predict(rows)
    np.testing.assert_array_equal(before.q_logged[mine], after.q_logged[mine])
    assert not np.allclose(before.q_logged[~mine], after.q_logged[~mine])


def test_lots_of_any_size_give_the_same() -> None:
    rows = problem()
    found, expected = fitted(rows, 7).predict(rows), fitted(rows, 1000).predict(rows)
    np.testing.assert_allclose(found.q_target, expected.q_target, rtol=1e-10)
