"""The choice network as a loss model: blind to its fold, exact under the policy, bounded, right in dr."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.choice_world import make_choice_world
from multilogger.components.actions.one_of import probabilities
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.evaluation import Request, evaluate_policy
from multilogger.components.evaluation.loss_model import DrModel
from multilogger.components.evaluation.loss_models import pair_networks
from multilogger.components.evaluation.loss_models.choice_network import ChoiceNetwork
from multilogger.components.evaluation.loss_models.choice_ridge import ChoiceRidge
from multilogger.components.evaluation.loss_models.cross_fitting import (
    Block,
    LogShape,
    ModelRows,
    draw_folds,
)
from tests.components.evaluation.loss_models.choice_rows import (
    ACTIONS,
    CONTEXTS,
    every_action,
    flipped,
    part_of,
    problem,
)


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
    monkeypatch.setattr(pair_networks, "FEWEST_EPOCHS", 4)
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
