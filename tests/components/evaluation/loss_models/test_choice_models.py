"""Loss models of one-of-K actions: blind to the fold they predict, exact under the policy, right in dr."""

import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.choice_world import make_choice_world
from multilogger.components.actions.one_of import probabilities
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.evaluation import Request, evaluate_policy
from multilogger.components.evaluation.loss_models import pair_networks
from multilogger.components.evaluation.loss_models.choice_models import (
    ChoiceNetwork,
    ChoiceRidge,
    LineSums,
    line_losses,
    term_rows,
)
from multilogger.components.evaluation.loss_models.cross_fitting import (
    Block,
    LogShape,
    ModelRows,
    draw_folds,
)
from multilogger.components.evaluation.loss_models.registry import DrModel
from tests.components.evaluation.loss_models.choice_rows import (
    ACTIONS,
    CONTEXTS,
    every_action,
    flipped,
    part_of,
    problem,
)

LINES = 4


def line_rows(seed: int = 0, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms (n, 3), losses and actions; action 3 never occurs."""
    rng = np.random.default_rng(seed)
    u = term_rows([rng.random(n), rng.random(n)])
    return u, rng.random(n), rng.integers(0, LINES - 1, n)


def test_same_as_the_ridge_of_all_terms() -> None:
    u, delta, action = line_rows()
    own = np.eye(LINES)[action]
    z = np.hstack([u, (own[:, :, None] * u[:, None, :]).reshape(len(u), -1)])
    penalty = np.diag([1e-9, *[1.0] * (z.shape[1] - 1)])
    dense = np.linalg.solve(z.T @ z + penalty, z.T @ delta)
    expected = dense[:3] + dense[3:].reshape(LINES, 3)
    found = LineSums.of(u, delta, action, LINES).lines()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[3], dense[:3], rtol=1e-8)  # an action without rows has the shared line


def test_sums_without_a_fold_are_those_of_the_other_rows() -> None:
    u, delta, action = line_rows()
    fold = np.arange(len(u)) % 3
    whole = LineSums.of(u, delta, fold * LINES + action, 3 * LINES)
    by_fold = LineSums(whole.gram.reshape(3, LINES, 3, 3), whole.moment.reshape(3, LINES, 3))
    others = fold != 1
    expected = LineSums.of(u[others], delta[others], action[others], LINES)
    np.testing.assert_allclose(by_fold.without(1).gram, expected.gram)
    np.testing.assert_allclose(by_fold.without(1).moment, expected.moment)


def test_losses_by_hand() -> None:
    """Two folds of two actions; q = c + d u."""
    lines = np.array([[[0.1, 0.5], [0.2, 1.0]], [[0.3, 0.0], [0.4, 2.0]]])
    h = np.array([[0.25, 0.75], [0.5, 0.5]])
    found = line_losses(lines, np.array([0, 1]), np.array([1, 0]), h, [h])
    assert found.q_logged == pytest.approx([0.2 + 0.75, 0.3])
    assert found.q_target == pytest.approx(
        [0.25 * (0.1 + 0.5 * 0.25) + 0.75 * (0.2 + 0.75), 0.5 * 0.3 + 0.5 * (0.4 + 1.0)]
    )


def test_memory_grows_with_the_actions_and_not_with_their_square() -> None:
    u, delta, _ = line_rows()
    action = np.random.default_rng(1).integers(0, 20_000, len(u))
    tracemalloc.start()
    try:
        found = LineSums.of(u, delta, action, 20_000).lines()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(found).all()
    assert most < 20_000 * 1000  # a table of actions times actions alone has 3.2 GB


FOLDS = draw_folds(CONTEXTS, np.random.default_rng(1))


def fitted_ridge(rows: ModelRows, batch: int = 100) -> ChoiceRidge:
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


def test_ridges_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps dr unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    rows = problem()
    found = fitted_ridge(rows).predict(every_action(rows, 7))
    h = probabilities(rows.logits[7:8])[0]
    assert float(h @ found.q_logged) == pytest.approx(found.q_target[0], rel=1e-12)


def test_ridge_predicts_a_fold_without_its_own_losses() -> None:
    rows = problem()
    mine = FOLDS[rows.context] == 1
    before, after = fitted_ridge(rows).predict(rows), fitted_ridge(flipped(rows, mine)).predict(rows)
    np.testing.assert_array_equal(before.q_logged[mine], after.q_logged[mine])
    assert not np.allclose(before.q_logged[~mine], after.q_logged[~mine])


def test_lots_of_any_size_give_the_same() -> None:
    rows = problem()
    found, expected = fitted_ridge(rows, 7).predict(rows), fitted_ridge(rows, 1000).predict(rows)
    np.testing.assert_allclose(found.q_target, expected.q_target, rtol=1e-10)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten epochs per fit."""
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 1)


def shape_of(rows: ModelRows, max_loss: float = 1.0) -> LogShape:
    return LogShape(len(rows.delta), ACTIONS, max_loss, draw_folds(CONTEXTS, np.random.default_rng(1)))


def fitted(rows: ModelRows, shape: LogShape, batch: int = 100) -> ChoiceNetwork:
    model = ChoiceNetwork(shape, np.random.default_rng(2))
    for start in range(0, len(rows.delta), batch):
        model.add(part_of(rows, slice(start, start + batch)))
    model.fit()
    return model


def squared_error(model: ChoiceNetwork | ChoiceRidge, rows: ModelRows) -> float:
    return float(np.square(rows.delta - model.predict(rows).q_logged).mean())


def test_features_tell_more_than_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 10_000)
    rows = problem()
    shape = shape_of(rows)
    ridge = ChoiceRidge(ACTIONS, shape.folds)
    ridge.add(rows)
    ridge.fit()
    assert squared_error(fitted(rows, shape), rows) < 0.7 * squared_error(ridge, rows)


def test_mean_over_the_policy_is_the_mean_over_all_actions() -> None:
    """What keeps dr unbiased: q_target is exactly sum_y h(y|x) q(x, y), however wrong q is."""
    rows = problem()
    found = fitted(rows, shape_of(rows)).predict(every_action(rows, 7))
    h = probabilities(rows.logits[7:8])[0]
    assert float(h @ found.q_logged) == pytest.approx(found.q_target[0], rel=1e-6)


def test_a_fold_is_predicted_without_its_own_losses() -> None:
    rows = problem()
    shape = shape_of(rows)
    mine = shape.folds[rows.context] == 1
    before = fitted(rows, shape).predict(rows)
    after = fitted(flipped(rows, mine), shape).predict(rows)
    np.testing.assert_array_equal(before.q_logged[mine], after.q_logged[mine])
    assert not np.allclose(before.q_logged[~mine], after.q_logged[~mine])


def test_scale_of_the_loss_does_not_matter() -> None:
    plain, wide = problem(), problem(scale=10.0)
    error = squared_error(fitted(plain, shape_of(plain)), plain)
    assert squared_error(fitted(wide, shape_of(wide, 10.0)), wide) == pytest.approx(100.0 * error, rel=0.02)


def test_features_that_stand_apart_give_the_same() -> None:
    rows = problem()
    assert rows.x is not None
    table, number = rows.x[:CONTEXTS], np.arange(CONTEXTS)
    number[-1] = -1  # the last context of the file is not in the log
    inside = replace(part_of(rows, rows.context < CONTEXTS - 1))

    def apart() -> Iterator[Block]:
        for start in range(0, CONTEXTS, 50):
            yield number[start : start + 50], table[start : start + 50]

    folds = draw_folds(CONTEXTS - 1, np.random.default_rng(1))
    shape = LogShape(len(inside.delta), ACTIONS, 1.0, folds)
    model = ChoiceNetwork(shape, np.random.default_rng(2), apart)
    bare = replace(inside, x=None)
    model.add(bare)
    model.fit()
    found, expected = model.predict(bare), fitted(inside, shape).predict(inside)
    np.testing.assert_allclose(found.q_target, expected.q_target, rtol=1e-4)


def test_only_a_sample_is_kept_without_its_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_networks, "MOST_ROWS", 90)
    rows = problem()
    told: list[float] = []
    model = ChoiceNetwork(shape_of(rows), np.random.default_rng(2), advance=told.append)
    model.add(rows)
    assert model.fitted_rows == 90
    assert sum(part.logits.size for part in model._sampler._parts) == 90
    model.fit()
    assert np.isfinite(model.predict(rows).q_logged).all()
    assert sum(told) == pytest.approx(1.0)


def test_two_contexts_are_too_few() -> None:
    rows = part_of(problem(), np.flatnonzero(problem().context < 2))
    with pytest.raises(BadInput, match="needs 3 contexts or more, got 2; use --dr-model ridge"):
        fitted(rows, LogShape(len(rows.delta), ACTIONS, 1.0, np.arange(2)))


def test_dr_is_unbiased_and_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_networks, "FEWEST_EPOCHS", 2)
    world = make_choice_world("good")
    logs, values, held = 40, [], 0
    for seed in range(logs):
        rng = np.random.default_rng([seed, 81])
        scored = world.draw(100, (2, 2), rng, DrModel.NETWORK)
        found = evaluate_policy(scored.log, scored.model, Request(replicates=200), rng)
        row = next(row for row in found.estimates if row.name == "dr")
        values.append(row.value)
        held += row.bootstrap.low <= world.risk <= row.bootstrap.high
    error = float(np.std(values, ddof=1)) / math.sqrt(logs)
    assert abs(float(np.mean(values)) - world.risk) < 3.0 * error
    assert held / logs > 0.95 - 3.0 * math.sqrt(0.95 * 0.05 / logs)
