"""The model of the loss: right for losses that add up over labels, and blind to the fold it predicts."""

import numpy as np
import pytest

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import all_actions, marginals, sample
from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows, draw_folds
from multilogger.components.evaluation.loss_models.label_ridge import LabelRidge


def problem(rows: int = 4000) -> tuple[Matrix, Actions, Vector]:
    """Hamming losses, noise-free, of labels that the policy's own logits decide."""
    rng = np.random.default_rng(1)
    logits = rng.choice([-2.0, 0.5, 3.0], (rows, 3))
    action = sample(np.zeros_like(logits), rng.random(logits.shape))
    p = marginals(logits)
    return logits, action, (p + action * (1.0 - 2.0 * p)).sum(axis=1)


def rows_of(logits: Matrix, action: Actions, delta: Vector, at: slice = slice(None)) -> ModelRows:
    """Rows that are a context each, all of one logger."""
    number = np.arange(len(delta))[at]
    return ModelRows(number, np.zeros_like(number), logits[at], action[at], delta[at])


def fitted(fold: np.ndarray, logits: Matrix, action: Actions, delta: Vector) -> LabelRidge:
    model = LabelRidge(3, fold)
    for start in range(0, len(delta), 700):
        model.add(rows_of(logits, action, delta, slice(start, start + 700)))
    model.fit()
    assert model.fitted_rows == len(delta)
    return model


def test_additive_losses_are_predicted_and_averaged_over_the_policy() -> None:
    logits, action, delta = problem()
    fold = np.arange(len(delta)) % 5
    found = fitted(fold, logits, action, delta).predict(rows_of(logits, action, delta))
    np.testing.assert_allclose(found.q_logged, delta, atol=0.02)
    p = marginals(logits)
    np.testing.assert_allclose(found.q_target, (2.0 * p * (1.0 - p)).sum(axis=1), atol=0.02)


def test_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps DR unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    logits, action, _ = problem(500)
    fold = np.zeros(500, dtype=np.int64)
    fold[250:] = 1
    model = fitted(fold, logits, action, np.random.default_rng(2).random(500))
    actions = all_actions(3)
    p = marginals(logits[:1])
    chance = np.where(actions == 1, p, 1.0 - p).prod(axis=1)
    whole = model.predict(rows_of(np.repeat(logits[:1], 8, axis=0), actions, np.zeros(8)))
    assert float(chance @ whole.q_logged) == pytest.approx(whole.q_target[0], rel=1e-10)


def test_a_fold_is_predicted_without_its_own_losses() -> None:
    logits, action, delta = problem(600)
    fold = np.arange(600) % 3
    other = np.where(fold == 1, 9.0 - delta, delta)
    before = fitted(fold, logits, action, delta).predict(rows_of(logits, action, delta))
    after = fitted(fold, logits, action, other).predict(rows_of(logits, action, other))
    np.testing.assert_array_equal(before.q_logged[fold == 1], after.q_logged[fold == 1])
    assert not np.allclose(before.q_logged[fold == 0], after.q_logged[fold == 0])


def test_folds_are_as_equal_as_can_be() -> None:
    folds = draw_folds(23, np.random.default_rng(0))
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
    assert draw_folds(2, np.random.default_rng(0)).max() == 1
