"""Additive weights on worlds small enough to list every action."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import all_actions, draw, log_probability_of_all, marginals
from multilogger.components.estimators.additive_weights import (
    AdditiveWeights,
    balanced_additive_weights,
    own_additive_weights,
    support_shares,
)
from tests.components.estimators.risks import (
    LabelRows,
    additive_balanced_risk,
    additive_naive_risk,
    additive_weighted_risk,
)

COUNTS = np.array([30.0, 10.0, 60.0])
Build = Callable[[Matrix, Sequence[Matrix]], AdditiveWeights]
BALANCED: Build = lambda logits, loggers: balanced_additive_weights(logits, loggers, COUNTS)  # noqa: E731


class World:
    """Five contexts, q labels, three loggers, and a loss that adds up over labels or does not."""

    def __init__(self, q: int, additive: bool = True) -> None:
        rng = np.random.default_rng(q)
        self.logits = rng.normal(size=(5, q))
        self.loggers = [scale * rng.normal(size=(5, q)) for scale in (0.3, 1.0, 2.0)]
        self.actions = all_actions(q)
        self.losses = rng.normal(size=(5, 1)) + rng.normal(size=(5, q)) @ self.actions.T
        if not additive:
            self.losses = self.losses + self.actions[:, 0] * self.actions[:, 1]

    def chances(self, logits: Matrix) -> Matrix:
        return np.exp(log_probability_of_all(logits))

    @property
    def risk(self) -> float:
        return float((self.chances(self.logits) * self.losses).sum(axis=1).mean())

    def moments(self, weights: AdditiveWeights, power: int, of_loss: bool) -> Vector:
        """E_j[W^power delta], or without delta, of each logger: (J,)."""
        found = []
        for j, table in enumerate(self.loggers):
            total = np.zeros(5)
            for at, y in enumerate(self.actions):
                w = weights.of(np.arange(5), np.full(5, j), np.tile(y, (5, 1)))
                total += self.chances(table)[:, at] * w**power * (self.losses[:, at] if of_loss else 1.0)
            found.append(total.mean())
        return np.array(found)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_expectations_are_the_risk_of_a_loss_that_adds_up(q: int) -> None:
    world = World(q)
    own = world.moments(own_additive_weights(world.logits, world.loggers), 1, of_loss=True)
    np.testing.assert_allclose(own, world.risk, atol=1e-12)  # of each logger by itself
    balanced = world.moments(BALANCED(world.logits, world.loggers), 1, of_loss=True)
    np.testing.assert_allclose(COUNTS @ balanced / COUNTS.sum(), world.risk, atol=1e-12)
    assert q == 1 or np.abs(balanced - world.risk).max() > 1e-3  # in the mean over loggers alone


def test_a_loss_of_pairs_is_estimated_with_a_bias() -> None:
    world = World(3, additive=False)
    own = world.moments(own_additive_weights(world.logits, world.loggers), 1, of_loss=True)
    assert np.abs(own - world.risk).max() > 1e-3


@pytest.mark.parametrize("build", [own_additive_weights, BALANCED], ids=["own", "balanced"])
def test_second_moments_are_those_of_an_enumeration(build: Build) -> None:
    world = World(4)
    weights = build(world.logits, world.loggers)
    np.testing.assert_allclose(weights.second_moment, world.moments(weights, 2, of_loss=False), rtol=1e-12)
    share = COUNTS / COUNTS.sum()
    np.testing.assert_allclose(share @ world.moments(weights, 1, of_loss=False), 1.0, atol=1e-12)


def test_balanced_weights_have_the_least_second_moment() -> None:
    world = World(4)
    share = COUNTS / COUNTS.sum()
    own = own_additive_weights(world.logits, world.loggers)
    mixed = support_shares(own, COUNTS)
    balanced = BALANCED(world.logits, world.loggers).second_moment @ share
    # n times the variance of a lambda-weighted mean of W is sum_j (n_j lambda_j)^2 / share_j E_j[W^2]
    assert balanced <= (mixed**2 / share) @ own.second_moment
    assert balanced < own.second_moment @ share
    # the policy of one logger: that logger's rows alone would have n / n_j
    assert balanced_additive_weights(world.loggers[1], world.loggers, COUNTS).second_moment @ share < 10.0


def test_sure_loggers_leave_balanced_weights_finite() -> None:
    loggers = [np.array([[40.0, -800.0, 0.0]]), np.array([[60.0, -900.0, 1.0]])]
    weights = balanced_additive_weights(np.array([[50.0, -40.0, 14.0]]), loggers, np.array([5.0, 5.0]))
    w = weights.of(np.zeros(2, dtype=np.int64), np.array([0, 1]), np.array([[1, 0, 1], [1, 0, 1]]))
    np.testing.assert_allclose(w.mean(), 1.0 / np.mean([0.5, 1 / (1 + np.exp(-1.0))]), rtol=0.1)


def test_own_weights_are_sums_of_ratios() -> None:
    world, y = World(3), np.array([[1, 0, 1]])
    h, p = marginals(world.logits)[:1], marginals(world.loggers[2])[:1]
    ratios = np.where(y == 1, h / p, (1 - h) / (1 - p))
    own = own_additive_weights(world.logits, world.loggers)
    w = own.of(np.array([0]), np.array([2]), y)
    np.testing.assert_allclose(w, 1.0 + (ratios - 1.0).sum(axis=1))


def test_estimators_agree_with_the_risk_on_a_long_log() -> None:
    world, rng = World(4), np.random.default_rng(0)
    logger = np.repeat([0, 1, 2], [15_000, 5_000, 30_000])
    context = np.tile(np.arange(5), 10_000)
    action = np.concatenate([draw(world.loggers[j][context[logger == j]], rng) for j in range(3)])
    place = action @ (1 << np.arange(4))
    counts = np.bincount(logger).astype(np.float64)
    rows = LabelRows(context, logger, action, world.losses[context, place], counts)
    for estimator in (additive_naive_risk, additive_weighted_risk, additive_balanced_risk):
        found = estimator(rows, world.logits, world.loggers)
        assert abs(found.value - world.risk) < 4 * found.standard_error, estimator
        assert found.standard_error < 0.05


def test_a_logger_that_never_follows_the_policy_has_no_share() -> None:
    sure = np.full((5, 2), 40.0)
    own = own_additive_weights(np.zeros((5, 2)), [np.zeros((5, 2)), sure, -800.0 * np.ones((5, 2))])
    shares = support_shares(own, np.array([10.0, 1e6, 1e6]))
    assert np.isfinite(own.second_moment[:2]).all()
    np.testing.assert_allclose(shares, [1.0, 0.0, 0.0], atol=1e-9)
