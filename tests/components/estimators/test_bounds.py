"""The bounds worked by hand, and held against hundreds of simulated logs; the constraint in its two forms."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import Labels, all_actions, log_probability_table
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.bounds import (
    Certificate,
    balanced_certificate,
    constraint_coefficients,
    constraint_value,
    equivalent_rho,
    naive_certificate,
    weighted_certificate,
)
from multilogger.components.estimators.divergences import (
    PolicyDivergence,
    average_divergence,
    exact_divergence,
)
from multilogger.components.estimators.ips import (
    Estimate,
    lambda_weighted_risk,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from tests.components.estimators.risks import (
    balanced_risk,
    naive_risk,
)

COUNTS = np.array([30.0, 10.0])
LAMBDAS = np.array([0.01, 0.07])  # 30 * 0.01 + 10 * 0.07 = 1
DIVERGENCES = (PolicyDivergence(math.log(2.0), math.log(5.0)), PolicyDivergence(math.log(3.0), math.log(4.0)))
ETA = math.exp(-1.0)  # log(1/eta) = 1


def test_theorem_3_2_worked_by_hand() -> None:
    certificate = weighted_certificate(0.5, LAMBDAS, COUNTS, DIVERGENCES, max_loss=6.0, eta=ETA)
    # M_lambda = max(0.05, 0.28); moment = 30 * 1e-4 * 2 + 10 * 49e-4 * 3 = 0.153
    assert certificate.range_term == pytest.approx(2 * 6 * 0.28 / 3)
    assert certificate.variance_term == pytest.approx(6 * math.sqrt(2 * 0.153))
    assert certificate.bound == pytest.approx(0.5 + 1.12 + 6 * math.sqrt(0.306))
    assert (certificate.theorem, certificate.eta) == ("Theorem 3.2", ETA)


def test_corollary_worked_by_hand_and_as_a_case_of_the_theorem() -> None:
    naive = naive_certificate(0.5, COUNTS, DIVERGENCES, max_loss=6.0, eta=ETA)
    assert naive.range_term == pytest.approx(2 * 6 * 5 / (3 * 40))
    assert naive.variance_term == pytest.approx(6 * math.sqrt(2 * (30 * 2 + 10 * 3) / 40**2))
    theorem = weighted_certificate(0.5, np.full(2, 1 / 40), COUNTS, DIVERGENCES, max_loss=6.0, eta=ETA)
    assert naive.bound == pytest.approx(theorem.bound, rel=1e-12)


def test_theorem_6_1_worked_by_hand() -> None:
    balanced = balanced_certificate(0.5, 40, DIVERGENCES[0], max_loss=6.0, eta=ETA**2)
    assert balanced.range_term == pytest.approx(2 * 6 * 5 * 2 / (3 * 40))
    assert balanced.variance_term == pytest.approx(6 * math.sqrt(2 * 2 * 2 / 40))
    assert balanced.bound == pytest.approx(0.5 + balanced.range_term + balanced.variance_term)


def test_a_logger_of_weight_zero_does_not_count() -> None:
    endless = (DIVERGENCES[0], PolicyDivergence(5000.0, 6000.0))
    alone = weighted_certificate(0.5, np.array([1 / 30]), COUNTS[:1], DIVERGENCES[:1], max_loss=6.0, eta=ETA)
    assert weighted_certificate(0.5, np.array([1 / 30, 0.0]), COUNTS, endless, 6.0, ETA) == alone
    vacuous = weighted_certificate(0.5, LAMBDAS, COUNTS, endless, max_loss=6.0, eta=ETA)
    assert vacuous.bound == math.inf
    assert vacuous.log_range == pytest.approx(6000 + math.log(0.07))


@dataclass(frozen=True)
class Figures:
    """What 500 simulated logs say: how often the bound held, and how often the estimate alone would have."""

    bound_held: float
    estimate_above: float


@dataclass(frozen=True)
class World:
    """Two equally likely contexts and all that may happen there; losses are highest where the policy goes and
    a logger seldom does."""

    space: ActionSpace
    target: Matrix
    loggers: tuple[Matrix, Matrix]
    loss: Vector

    def chances(self, logits: Matrix) -> Vector:
        """log h(y|x) of every context and action, one after another."""
        if isinstance(self.space, Labels):
            return log_probability_table(logits, all_actions(self.space.size)).ravel()
        return self.space.log_probability_of_all(logits).ravel()

    @property
    def exact(self) -> list[PolicyDivergence]:
        return [exact_divergence(self.space, self.target, h) for h in self.loggers]


WORLDS = {
    "labels": World(
        Labels(2),
        np.array([[1.5, 1.0], [-1.0, 1.5]]),
        (np.array([[-1.0, 0.0], [0.0, -0.5]]), np.array([[1.0, 0.5], [-1.0, 1.0]])),
        np.array([0.0, 0.5, 1.0, 2.0, 0.0, 0.5, 2.0, 1.0]),
    ),
    "one-of": World(
        OneOf(3),
        np.array([[0.0, 1.0, 2.5], [2.0, 0.0, 1.0]]),
        (np.array([[1.0, 0.5, -1.0], [0.0, 0.5, 0.5]]), np.array([[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])),
        np.array([0.0, 0.5, 2.0, 2.0, 0.0, 1.0]),
    ),
}
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def simulate(
    world: World,
    estimate: Callable[[LoggedBatch], Estimate],
    certify: Callable[[float], Certificate],
    logs: int = 500,
) -> Figures:
    rng = np.random.default_rng(7)
    logger = np.repeat([0, 1], COUNTS.astype(int))
    log_target = world.chances(world.target)
    log_propensities = np.stack([world.chances(h) for h in world.loggers], axis=1)
    chance, risk = 0.5 * np.exp(log_propensities), float(np.sum(0.5 * np.exp(log_target) * world.loss))
    held = above = 0
    for _ in range(logs):
        first, second = (rng.choice(len(chance), size=len(logger), p=column) for column in chance.T)
        outcome = np.where(logger == 0, first, second)
        value = estimate(
            LoggedBatch(
                logger=logger,
                delta=world.loss[outcome],
                log_propensity=log_propensities[outcome, logger],
                log_target=log_target[outcome],
                max_loss=2.0,
                log_propensities=log_propensities[outcome],
            )
        ).value
        held += certify(value).bound >= risk
        above += value >= risk
    return Figures(held / logs, above / logs)


@every_world
@pytest.mark.parametrize("eta", [0.05, 0.3])
def test_theorem_3_2_holds_in_simulated_logs(eta: float, world: World) -> None:
    figures = simulate(
        world,
        lambda batch: lambda_weighted_risk(batch, LAMBDAS),
        lambda value: weighted_certificate(value, LAMBDAS, COUNTS, world.exact, max_loss=2.0, eta=eta),
    )
    assert figures.bound_held >= 1 - eta
    assert figures.estimate_above < 1 - eta  # without its terms the inequality fails


@every_world
def test_corollary_and_theorem_6_1_hold_in_simulated_logs(world: World) -> None:
    naive = simulate(
        world, naive_risk, lambda value: naive_certificate(value, COUNTS, world.exact, max_loss=2.0, eta=0.1)
    )
    average = average_divergence(world.space, world.target, world.loggers, COUNTS)
    balanced = simulate(
        world, balanced_risk, lambda value: balanced_certificate(value, 40, average, max_loss=2.0, eta=0.1)
    )
    for figures in (naive, balanced):
        assert figures.bound_held >= 0.9
        assert figures.estimate_above < 0.9


@every_world
def test_divergence_from_the_average_logger_is_that_of_all_actions(world: World) -> None:
    """By enumeration, here written out: d_2 = E_x sum_y h^2 / h_avg, d_inf = max h / h_avg."""
    chances = [np.exp(world.chances(h)).reshape(2, -1) for h in (world.target, *world.loggers)]
    h, mixed = chances[0], (30 * chances[1] + 10 * chances[2]) / 40
    found = average_divergence(world.space, world.target, world.loggers, COUNTS)
    assert found.log_d2 == pytest.approx(np.log((h**2 / mixed).sum(axis=1).mean()), rel=1e-12)
    assert found.log_max_ratio == pytest.approx(np.log((h / mixed).max()), rel=1e-12)


def test_coefficients_worked_by_hand() -> None:
    # 30 * 1e-4 = 0.003 and 10 * 49e-4 = 0.049
    assert constraint_coefficients(COUNTS, LAMBDAS) == pytest.approx([3 / 52, 49 / 52])
    assert constraint_value(COUNTS, LAMBDAS, np.array([52.0, 5.2])) == pytest.approx(3 + 4.9)


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_both_thresholds_agree_on_both_sides(kappa: float, factor: float) -> None:
    d_f = np.array([0.2, 3.0])
    d_f *= factor * kappa / constraint_value(COUNTS, LAMBDAS, d_f)
    printed = np.sum(COUNTS * LAMBDAS**2 * (d_f + 1))
    meets_printed = printed <= equivalent_rho(kappa, COUNTS, LAMBDAS) / 40**2
    assert meets_printed == (constraint_value(COUNTS, LAMBDAS, d_f) <= kappa) == (factor < 1)


def test_naive_rho_starts_at_n() -> None:
    assert equivalent_rho(0.0, COUNTS, np.full(2, 1 / 40)) == pytest.approx(40.0)
    assert equivalent_rho(1.5, COUNTS, np.full(2, 1 / 40)) == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: naive_certificate(0.5, COUNTS, DIVERGENCES, max_loss=6.0, eta=0.0),
            "eta is the chance that the bound fails and must lie between 0 and 1, got 0.0",
        ),
        (
            lambda: balanced_certificate(0.5, 40, DIVERGENCES[0], max_loss=6.0, eta=1.0),
            "eta is the chance that the bound fails and must lie between 0 and 1, got 1.0",
        ),
        (
            lambda: weighted_certificate(0.5, np.ones(3), COUNTS, DIVERGENCES, max_loss=6.0, eta=0.1),
            "a bound needs one lambda, one count and one divergence a logger, got 3, 2 and 2",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.ones(3)),
            "one lambda per logger is needed, got 3 for 2 loggers",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.zeros(2)),
            "lambdas must be at least 0 and not all 0, got [0.0, 0.0]",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.array([0.1, -0.2])),
            "lambdas must be at least 0 and not all 0, got [0.1, -0.2]",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
