"""Loss models of label vectors: blind to the fold they predict, exact under the policy, right in dr."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.simulated_world import make_world
from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import all_actions, marginals, sample
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.evaluation import Request, evaluate_policy
from multilogger.components.evaluation.loss_models import pair_networks
from multilogger.components.evaluation.loss_models.cross_fitting import (
    Block,
    LogShape,
    ModelRows,
    draw_folds,
)
from multilogger.components.evaluation.loss_models.label_models import AdditiveNetwork, LabelRidge
from multilogger.components.evaluation.loss_models.registry import DrModel


def ridge_problem(rows: int = 4000) -> tuple[Matrix, Actions, Vector]:
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


def fitted_ridge(fold: np.ndarray, logits: Matrix, action: Actions, delta: Vector) -> LabelRidge:
    model = LabelRidge(3, fold)
    for start in range(0, len(delta), 700):
        model.add(rows_of(logits, action, delta, slice(start, start + 700)))
    model.fit()
    assert model.fitted_rows == len(delta)
    return model


def test_additive_losses_are_predicted_and_averaged_over_the_policy() -> None:
    logits, action, delta = ridge_problem()
    fold = np.arange(len(delta)) % 5
    found = fitted_ridge(fold, logits, action, delta).predict(rows_of(logits, action, delta))
    np.testing.assert_allclose(found.q_logged, delta, atol=0.02)
    p = marginals(logits)
    np.testing.assert_allclose(found.q_target, (2.0 * p * (1.0 - p)).sum(axis=1), atol=0.02)


def test_ridges_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps DR unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    logits, action, _ = ridge_problem(500)
    fold = np.zeros(500, dtype=np.int64)
    fold[250:] = 1
    model = fitted_ridge(fold, logits, action, np.random.default_rng(2).random(500))
    actions = all_actions(3)
    p = marginals(logits[:1])
    chance = np.where(actions == 1, p, 1.0 - p).prod(axis=1)
    whole = model.predict(rows_of(np.repeat(logits[:1], 8, axis=0), actions, np.zeros(8)))
    assert float(chance @ whole.q_logged) == pytest.approx(whole.q_target[0], rel=1e-10)


def test_ridge_predicts_a_fold_without_its_own_losses() -> None:
    logits, action, delta = ridge_problem(600)
    fold = np.arange(600) % 3
    other = np.where(fold == 1, 9.0 - delta, delta)
    before = fitted_ridge(fold, logits, action, delta).predict(rows_of(logits, action, delta))
    after = fitted_ridge(fold, logits, action, other).predict(rows_of(logits, action, other))
    np.testing.assert_array_equal(before.q_logged[fold == 1], after.q_logged[fold == 1])
    assert not np.allclose(before.q_logged[fold == 0], after.q_logged[fold == 0])


def test_folds_are_as_equal_as_can_be() -> None:
    folds = draw_folds(23, np.random.default_rng(0))
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
    assert draw_folds(2, np.random.default_rng(0)).max() == 1


LABELS = 3
CONTEXTS = 120


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten epochs per fit."""
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 1)


def problem(seed: int = 0, height: float = 0.0, scale: float = 1.0) -> ModelRows:
    """Three rows per context; labels are the signs of features that the policy gets wrong by turns."""
    rng = np.random.default_rng(seed)
    context = np.tile(np.arange(CONTEXTS), 3)
    x = rng.normal(size=(CONTEXTS, LABELS)).astype(np.float32)[context]
    action = sample(np.zeros(x.shape), rng.random(x.shape))
    delta = height + scale * ((x > 0) != action).sum(axis=1)
    logits = np.where(np.arange(len(x))[:, None] % 2, x, -x).astype(np.float64)
    return ModelRows(context, np.arange(len(x)) % 2, logits, action, delta.astype(np.float64), x)


def shape_of(rows: ModelRows, max_loss: float = LABELS) -> LogShape:
    return LogShape(len(rows.delta), LABELS, max_loss, draw_folds(CONTEXTS, np.random.default_rng(1)))


def fitted(rows: ModelRows, shape: LogShape, batch: int = 100) -> AdditiveNetwork:
    model = AdditiveNetwork(shape, np.random.default_rng(2))
    for start in range(0, len(rows.delta), batch):
        model.add(part_of(rows, slice(start, start + batch)))
    model.fit()
    return model


def part_of(rows: ModelRows, at: slice | np.ndarray) -> ModelRows:
    x = None if rows.x is None else rows.x[at]
    return ModelRows(rows.context[at], rows.logger[at], rows.logits[at], rows.action[at], rows.delta[at], x)


def test_features_tell_more_than_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 10_000)
    rows = problem()
    shape = shape_of(rows)
    ridge = LabelRidge(LABELS, shape.folds)
    ridge.add(rows)
    ridge.fit()
    left = [
        float(np.square(rows.delta - model.predict(rows).q_logged).mean())
        for model in (fitted(rows, shape), ridge)
    ]
    assert left[0] < 0.6 * left[1]


def test_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps dr unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    rows = problem()
    model = fitted(rows, shape_of(rows))
    actions = all_actions(LABELS)
    one = part_of(rows, np.full(len(actions), 7))
    whole = model.predict(ModelRows(one.context, one.logger, one.logits, actions, one.delta, one.x))
    p = marginals(one.logits[:1])
    chance = np.where(actions == 1, p, 1.0 - p).prod(axis=1)
    assert float(chance @ whole.q_logged) == pytest.approx(whole.q_target[0], rel=1e-6)


def test_a_fold_is_predicted_without_its_own_losses() -> None:
    rows = problem()
    shape = shape_of(rows)
    mine = shape.folds[rows.context] == 1
    other = ModelRows(
        rows.context,
        rows.logger,
        rows.logits,
        rows.action,
        np.where(mine, LABELS - rows.delta, rows.delta),
        rows.x,
    )
    before, after = fitted(rows, shape).predict(rows), fitted(other, shape).predict(rows)
    np.testing.assert_array_equal(before.q_logged[mine], after.q_logged[mine])
    assert not np.allclose(before.q_logged[~mine], after.q_logged[~mine])


def test_height_and_scale_of_the_loss_do_not_matter() -> None:
    plain = problem()
    moved = problem(height=2.0, scale=0.5)
    error = plain.delta - fitted(plain, shape_of(plain)).predict(plain).q_logged
    other = moved.delta - fitted(moved, shape_of(moved, max_loss=3.5)).predict(moved).q_logged
    assert float(np.square(other).mean()) < 1.5 * 0.25 * float(np.square(error).mean())


def test_features_that_stand_apart_give_the_same() -> None:
    rows = problem()
    assert rows.x is not None
    table = np.concatenate([rows.x[:CONTEXTS], np.full((4, LABELS), np.nan, dtype=np.float32)])
    order = np.random.default_rng(3).permutation(len(table))
    number = np.where(order < CONTEXTS, order, -1)  # four contexts of the file are not in the log

    def apart() -> Iterator[Block]:
        for start in range(0, len(order), 50):
            yield number[start : start + 50], table[order[start : start + 50]]

    model = AdditiveNetwork(shape_of(rows), np.random.default_rng(2), apart)
    bare = ModelRows(rows.context, rows.logger, rows.logits, rows.action, rows.delta)
    model.add(bare)
    model.fit()
    found, expected = model.predict(bare), fitted(rows, shape_of(rows)).predict(rows)
    # the order of contexts differs, and with it the mini-batches
    assert np.corrcoef(found.q_logged, expected.q_logged)[0, 1] > 0.9


def test_only_a_sample_is_kept_and_every_row_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_networks, "MOST_ROWS", 90)
    rows = problem()
    told: list[float] = []
    model = AdditiveNetwork(shape_of(rows), np.random.default_rng(2), advance=told.append)
    model.add(rows)
    assert model.fitted_rows == 90
    model.fit()
    assert np.isfinite(model.predict(rows).q_logged).all()
    assert sum(told) == pytest.approx(1.0)


@pytest.mark.parametrize("contexts", [2, 3])
def test_three_contexts_are_enough(contexts: int) -> None:
    rows = part_of(problem(), np.flatnonzero(problem().context < contexts))
    shape = LogShape(len(rows.delta), LABELS, LABELS, np.arange(contexts))
    if contexts < 3:
        with pytest.raises(BadInput, match="needs 3 contexts or more, got 2; use --dr-model ridge"):
            fitted(rows, shape)
    else:
        assert np.isfinite(fitted(rows, shape).predict(rows).q_target).all()


def test_dr_is_unbiased_and_covers_with_a_loss_that_does_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world whose risk is a finite sum; the model is wrong there, and dr right all the same."""
    monkeypatch.setattr(pair_networks, "FEWEST_EPOCHS", 2)
    world = make_world("good")
    logs, values, held = 40, [], 0
    for seed in range(logs):
        rng = np.random.default_rng([seed, 79])
        scored = world.draw(100, (2, 2), rng, DrModel.ADDITIVE)
        found = evaluate_policy(scored.log, scored.model, Request(replicates=200), rng)
        row = next(row for row in found.estimates if row.name == "dr")
        values.append(row.value)
        held += row.bootstrap.low <= world.risk <= row.bootstrap.high
    error = float(np.std(values, ddof=1)) / math.sqrt(logs)
    assert abs(float(np.mean(values)) - world.risk) < 3.0 * error
    assert held / logs > 0.95 - 3.0 * math.sqrt(0.95 * 0.05 / logs)
