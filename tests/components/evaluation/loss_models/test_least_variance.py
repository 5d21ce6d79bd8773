"""SMRDR against an enumeration: its model has the least variance, dr stays unbiased, one logger is MRDR."""

import re
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from benchmarks.choice_world import make_choice_world
from benchmarks.simulated_world import make_world
from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.labels import Labels, all_actions
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.evaluation import Request, evaluate_policy
from multilogger.components.evaluation.loss_models import least_variance
from multilogger.components.evaluation.loss_models.choice_models import ChoiceRidge
from multilogger.components.evaluation.loss_models.cross_fitting import LogShape, ModelRows
from multilogger.components.evaluation.loss_models.label_models import LabelRidge
from multilogger.components.evaluation.loss_models.least_variance import (
    ChoiceTerms,
    LabelTerms,
    LeastVariance,
    Terms,
)
from multilogger.components.evaluation.loss_models.registry import DrModel

KINDS, FOLDS = 3, 4
STEP = 1e-3
# By kind of context, and by logger: chances of labels in quarters, of actions in quarters.
LABEL_CHANCES = np.array([[[1, 2], [3, 1], [2, 3]], [[3, 3], [1, 2], [2, 1]]]) / 4
ACTION_CHANCES = np.array([[[1, 1, 2], [2, 1, 1], [1, 2, 1]], [[2, 1, 1], [1, 1, 2], [1, 1, 2]]]) / 4
PASSES = (1, 3)  # how often each logger meets all that there is
TERMS: dict[str, Terms] = {"labels": LabelTerms(), "one-of": ChoiceTerms()}


@dataclass(frozen=True)
class Population:
    """A log in which all actions of all loggers stand as often as they are likely, so that its means are
    expectations. `risk` is R(h), `value` what psi is for some beta, `rows` the log, a copy of all per fold.
    """

    terms: Terms
    rows: ModelRows
    h: Vector
    folds: np.ndarray
    risk: float

    @property
    def weight(self) -> Vector:
        assert self.rows.log_weight is not None
        return np.exp(self.rows.log_weight)

    def psi(self, beta: Vector) -> Vector:
        """E_{y ~ h} q + b (delta - q) of each row."""
        z = self.terms.of(self.rows)
        return np.asarray(z.target @ beta + self.weight * (self.rows.delta - z.logged @ beta))

    def variance(self, beta: Vector) -> float:
        """sum_j (n_j / n) Var_j psi."""
        psi, logger = self.psi(beta), self.rows.logger
        return float(sum(np.mean(logger == j) * np.var(psi[logger == j]) for j in np.unique(logger)))

    def shape(self, size: int) -> LogShape:
        return LogShape(len(self.h), size, 2.0, self.folds, int(self.rows.logger.max()) + 1)


def population(space: ActionSpace, loggers: int) -> Population:
    labels = isinstance(space, Labels)
    chances = (LABEL_CHANCES if labels else ACTION_CHANCES)[:loggers]
    logits = np.log(chances / (1.0 - chances)) if labels else np.log(chances)
    actions = all_actions(2) if labels else np.arange(3)
    rng = np.random.default_rng(3)
    target = rng.normal(size=(KINDS, space.size))
    losses = rng.uniform(0.0, 2.0, (KINDS, len(actions)))
    cells = np.array(list(product(range(loggers), range(KINDS), range(len(actions)))))
    logger, kind, number = cells.T
    own = np.exp(space.log_probability(logits[logger, kind], actions[number]))
    times = np.rint(16 * own * np.array(PASSES)[logger]).astype(int)
    np.testing.assert_allclose(times, 16 * own * np.array(PASSES)[logger])
    logger, kind, number, own = (
        np.tile(np.repeat(part, times), FOLDS) for part in (logger, kind, number, own)
    )
    action, rows = actions[number], len(own)
    table = np.stack([space.log_probability(one[kind], action) for one in logits])
    share = np.array(PASSES[:loggers]) / np.sum(PASSES[:loggers])
    log_h = space.log_probability(target[kind], action)
    log_weight = log_h - np.log(share @ np.exp(table))
    taken = [np.repeat(actions[number : number + 1], KINDS, axis=0) for number in range(len(actions))]
    every = np.stack([np.exp(space.log_probability(target, one)) for one in taken])
    return Population(
        TERMS[space.name],
        ModelRows(np.arange(rows), logger, target[kind], action, losses[kind, number], log_weight=log_weight),
        np.exp(log_h),
        np.repeat(np.arange(FOLDS), rows // FOLDS),
        float(np.sum(every.T * losses) / KINDS),
    )


def fitted(known: Population, space: ActionSpace) -> LeastVariance:
    model = LeastVariance(known.terms, known.shape(space.size))
    for start in range(0, len(known.h), 100):
        model.add(known.rows.at(slice(start, start + 100)))
    model.fit()
    assert model.fitted_rows == len(known.h)
    return model


SPACES: list[ActionSpace] = [Labels(2), OneOf(3)]


@pytest.fixture
def no_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_variance, "PULLS", np.array([1e-9]))


@pytest.mark.usefixtures("no_pull")
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loggers", [1, 2])
def test_the_model_has_the_least_variance_and_dr_is_unbiased(space: ActionSpace, loggers: int) -> None:
    known = population(space, loggers)
    model = fitted(known, space)
    beta = model.coefficients[0]
    least = known.variance(beta)
    for one in np.eye(len(beta)):
        up, down = known.variance(beta + STEP * one), known.variance(beta - STEP * one)
        assert up == pytest.approx(down, abs=1e-9)  # the slope is 0
        assert min(up, down) >= least - 1e-12
    ridge = LabelRidge(2, known.folds) if space.name == "labels" else ChoiceRidge(3, known.folds)
    ridge.add(known.rows)
    ridge.fit()
    found, plain = model.predict(known.rows), ridge.predict(known.rows)
    psi = found.q_target + known.weight * (known.rows.delta - found.q_logged)
    np.testing.assert_allclose(psi, known.psi(beta), atol=1e-6)
    assert psi.mean() == pytest.approx(known.risk, abs=1e-9)
    other = plain.q_target + known.weight * (known.rows.delta - plain.q_logged)
    assert other.mean() == pytest.approx(known.risk, abs=1e-9)
    mine = known.rows.logger
    spread = sum(np.mean(mine == j) * np.var(other[mine == j]) for j in range(loggers))
    assert least < 0.99 * spread


@pytest.mark.parametrize("space", SPACES)
def test_one_logger_is_mrdr(space: ActionSpace) -> None:
    """Farajtabar, Chow and Ghavamzadeh (2018): E[ w v' Omega v ], v = D_h q - e_a delta.

    Omega = diag(1 / h_1) - 1 1'. It differs from the variance by what no beta changes.
    """
    known = population(space, 1)
    rng = np.random.default_rng(0)
    betas = rng.normal(size=(4, known.terms.width(space.size)))
    gaps = [known.variance(beta) - mrdr(known, space, beta) for beta in betas]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)
    assert np.ptp([known.variance(beta) for beta in betas]) > 0.1


def mrdr(known: Population, space: ActionSpace, beta: Vector) -> float:
    actions = all_actions(2) if space.name == "labels" else np.arange(3)
    logits = np.log(LABEL_CHANCES / (1 - LABEL_CHANCES) if space.name == "labels" else ACTION_CHANCES)[0]
    kinds = {tuple(row): number for number, row in reversed(list(enumerate(known.rows.logits)))}
    firsts = sorted(kinds.values())
    found = []
    for at in range(len(known.h) // FOLDS):
        kind = firsts.index(kinds[tuple(known.rows.logits[at])])
        here = known.rows.at(np.full(len(actions), at))
        every = replace(here, action=actions)
        h = np.exp(space.log_probability(every.logits, actions))
        own = np.exp(space.log_probability(np.repeat(logits[kind][None], len(actions), axis=0), actions))
        v = h * (known.terms.of(every).logged @ beta)
        v = v - known.rows.delta[at] * space.same(actions, here.action)
        omega = np.diag(1.0 / own) - 1.0
        found.append(known.weight[at] * (v @ omega @ v))
    return float(np.mean(found))


@pytest.mark.parametrize("space", SPACES)
def test_a_fold_is_predicted_by_the_others(space: ActionSpace) -> None:
    known = population(space, 2)
    before = fitted(known, space).predict(known.rows)
    mine = known.folds == 1
    losses = np.where(mine, 2.0 - known.rows.delta, known.rows.delta)
    after = fitted(replace(known, rows=replace(known.rows, delta=losses)), space).predict(known.rows)
    np.testing.assert_array_equal(after.q_logged[mine], before.q_logged[mine])
    np.testing.assert_array_equal(after.q_target[mine], before.q_target[mine])
    assert not np.allclose(after.q_logged[~mine], before.q_logged[~mine])


@pytest.mark.parametrize("space", SPACES)
def test_without_folds_to_choose_by_it_is_the_ridge(space: ActionSpace) -> None:
    known = population(space, 2)
    known = replace(known, folds=known.folds % 2)
    ridge = LabelRidge(2, known.folds) if space.name == "labels" else ChoiceRidge(3, known.folds)
    ridge.add(known.rows)
    ridge.fit()
    found, plain = fitted(known, space).predict(known.rows), ridge.predict(known.rows)
    np.testing.assert_allclose(found.q_logged, plain.q_logged, atol=1e-8)
    np.testing.assert_allclose(found.q_target, plain.q_target, atol=1e-8)


@pytest.mark.parametrize("make", [make_world, make_choice_world])
def test_dr_is_right_on_simulated_logs(make: object) -> None:
    world = make("good")  # type: ignore[operator]
    values = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scored = world.draw(150, (2, 1), rng, DrModel.SMRDR)
        result = evaluate_policy(scored.log, scored.model, Request(replicates=100), rng)
        values.append(next(row.value for row in result.estimates if row.name == "dr"))
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - world.risk) < 3.5 * error
    assert error < 0.03


def test_it_needs_all_propensities() -> None:
    known = population(Labels(2), 2)
    model = LeastVariance(known.terms, known.shape(2))
    message = "'smrdr' of dr needs the propensities of each action under every logger, which the log lacks"
    with pytest.raises(BadInput, match=re.escape(message)):
        model.add(replace(known.rows, log_weight=None))


@pytest.mark.parametrize("terms", TERMS.values())
def test_many_labels_or_actions_are_refused(terms: Terms) -> None:
    shape = LogShape(10, 201, 1.0, np.arange(10) % 5)
    message = "'smrdr' of dr is for 200 labels or actions at most, the policy has 201; choose ridge"
    with pytest.raises(BadInput, match=re.escape(message)):
        LeastVariance(terms, shape)


def test_a_policy_that_no_row_agrees_with_has_finite_losses() -> None:
    known = population(Labels(2), 2)
    known = replace(known, rows=replace(known.rows, log_weight=np.full(len(known.h), -np.inf)))
    found = fitted(known, Labels(2)).predict(known.rows)
    assert np.isfinite(found.q_logged).all()
