"""Algorithm 2 against the closed-form divergence."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from multilogger.components.errors import BadInput
from multilogger.components.estimators.bounds import constraint_value
from multilogger.components.estimators.divergences import enumerated_average_divergence, exact_divergence
from multilogger.components.learners.reg.constraint import ConstrainedLearner
from multilogger.components.learners.reg.variational import VariationalEstimator, variational_value
from multilogger.components.learners.training.objectives import BALANCED, NAIVE, WEIGHTED, Objective
from multilogger.components.learners.training.settings import DivergenceKind
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import EverySetting, learn


def far_learner(log: TrainingLog, objective: Objective, settings: EverySetting) -> ConstrainedLearner:
    """A learner whose policy is nearly sure of every label, whatever the context."""
    learner = ConstrainedLearner(log, objective, settings, seed=0)
    with torch.no_grad():
        bias = learner.network.get_parameter("layers.3.bias" if settings.batch_norm else "layers.2.bias")
        bias.add_(torch.tensor([2.0, -2.0, 2.0]))
    return learner


def divergence(learner: ConstrainedLearner, log: TrainingLog) -> float:
    """What the constraint holds down, enumerated for h_avg."""
    counts = learner.measure.counts
    if learner.objective.average:
        return enumerated_average_divergence(log.space, learner.logits(), log.logger_logits, counts).d_f
    values = [exact_divergence(log.space, learner.logits(), table).d_f for table in log.logger_logits]
    return float(counts @ np.array(values) / counts.sum())


@pytest.mark.parametrize("kind", DivergenceKind)
@pytest.mark.parametrize("objective", [NAIVE, BALANCED], ids=lambda o: o.name)
def test_loop_lowers_the_exact_divergence(
    log: TrainingLog, quick: EverySetting, kind: DivergenceKind, objective: Objective
) -> None:
    settings = replace(quick, divergence=kind, kappa=0.5, inner_iterations=200, warm_up_steps=100)
    learner = far_learner(log, objective, settings)
    before = divergence(learner, log)
    learner.constraint.start_epoch(learner.shares)
    learner.constraint.enforce()
    assert before > 2.0
    assert divergence(learner, log) < 0.5 * before


@pytest.mark.parametrize("batch_norm", [False, True])
def test_policy_descends_the_whole_variational_objective(
    log: TrainingLog, quick: EverySetting, batch_norm: bool
) -> None:
    settings = replace(quick, kappa=1e-6, warm_up_steps=50, discriminator_batch_norm=batch_norm)
    learner = far_learner(log, WEIGHTED, settings)
    learner.constraint.start_epoch(learner.shares)
    estimator, coefficients = learner.constraint.estimator, learner.constraint.coefficients
    assert isinstance(estimator, VariationalEstimator)
    estimator.estimate()
    lots = estimator.discriminators.actions(estimator.contexts, estimator.relaxed, estimator.real)
    whole = coefficients @ variational_value(*lots)
    parameters = list(learner.network.parameters())
    expected = torch.autograd.grad(whole, parameters, retain_graph=True)
    ours = torch.autograd.grad(estimator.objective(coefficients), parameters)
    assert max(gradient.abs().max() for gradient in expected) > 1e-4
    for mine, theirs in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("kind", DivergenceKind)
def test_policy_rests_where_the_constraint_holds(
    log: TrainingLog, quick: EverySetting, kind: DivergenceKind
) -> None:
    learner = far_learner(log, WEIGHTED, replace(quick, divergence=kind, kappa=1e6))
    before = [parameter.clone() for parameter in learner.network.parameters()]
    learner.constraint.start_epoch(learner.shares)
    learner.constraint.enforce()
    assert all(torch.equal(a, b) for a, b in zip(before, learner.network.parameters(), strict=True))


@pytest.mark.parametrize("method", ["naive", "weighted", "balanced"])
def test_constraint_that_never_binds_leaves_the_direct_twin(
    log: TrainingLog, quick: EverySetting, method: str
) -> None:
    settings = replace(quick, kappa=1e9, batch_norm=False, epochs=4)
    direct, constrained = (learn(name, log, settings, 0).policy for name in (method, f"{method}-reg"))
    np.testing.assert_array_equal(constrained.logits(log.x), direct.logits(log.x))


def test_warmed_up_gauge_reports_a_part_of_the_divergence(log: TrainingLog, quick: EverySetting) -> None:
    learner = far_learner(log, NAIVE, replace(quick, kappa=1e6, warm_up_steps=300, batch_norm=False))
    learner.constraint.start_epoch(learner.shares)
    for _ in range(30):
        learner.constraint.enforce()
    for j, value in enumerate(learner.constraint.variational()):
        exact = exact_divergence(log.space, learner.logits(), log.logger_logits[j]).d_f
        # F is a lower bound on fresh rows; T has seen these few hundred often, and may exceed it on them.
        assert 0.3 * exact < value < 2.0 * exact


def test_tighter_kappa_keeps_the_policy_closer(log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, divergence=DivergenceKind.EXACT, epochs=20, patience=20, inner_iterations=5)
    loose, tight = (
        learn("naive-reg", log, replace(settings, kappa=kappa), 0).records[-1] for kappa in (100.0, 0.5)
    )
    assert tight.constraint < loose.constraint
    assert tight.constraint < 1.0
    counts = log.part(validation=False).counts
    assert tight.slack == pytest.approx(
        0.5 - constraint_value(counts, counts / counts.sum() / counts, np.array(tight.variational))
    )
    assert tight.rho == pytest.approx(counts.sum() * 1.5), "n (1 + kappa) for lambda_j = 1/n"


def test_slack_is_that_of_the_divergence_which_decides(log: TrainingLog, quick: EverySetting) -> None:
    """A discriminator's estimate lies far below the exact divergence, whose slack would look negative."""
    for method in ("weighted-reg", "balanced-reg"):
        record = learn(method, log, replace(quick, epochs=2, kappa=3.0), 0).records[-1]
        c = np.array(record.share) ** 2 / log.part(validation=False).counts
        known = np.array(record.variational) @ (c / c.sum() if method == "weighted-reg" else np.ones(1))
        assert record.slack == pytest.approx(3.0 - known)
        assert abs(record.slack - (3.0 - record.constraint)) > 0.1


def test_coefficients_follow_lambda(log: TrainingLog, quick: EverySetting) -> None:
    learner = ConstrainedLearner(log, WEIGHTED, quick, seed=0)
    learner.constraint.start_epoch(np.array([0.2, 0.8]))
    counts = learner.measure.counts
    terms = np.array([0.2, 0.8]) ** 2 / counts
    np.testing.assert_allclose(learner.constraint.coefficients.numpy(), terms / terms.sum(), rtol=1e-6)


def test_floor_of_the_constraint_leaves_the_risk_alone(log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, constraint_floor=0.3)
    learner = ConstrainedLearner(log, WEIGHTED, settings, seed=0)
    learner.constraint.start_epoch(np.array([0.999, 0.001]))
    terms = np.array([0.7, 0.3]) ** 2 / learner.measure.counts
    np.testing.assert_allclose(learner.constraint.coefficients.numpy(), terms / terms.sum(), rtol=1e-6)
    shares = learner.snapshot().shares()
    learner.run_epoch()
    np.testing.assert_array_equal(learner.shares, shares)


def test_record_says_how_often_the_constraint_moved_the_policy(log: TrainingLog, quick: EverySetting) -> None:
    tight, loose = (
        learn("naive-reg", log, replace(quick, epochs=2, kappa=kappa), 0).records for kappa in (1e-9, 1e9)
    )
    assert 0.5 < tight[0].pulled <= 1.0
    assert [record.pulled for record in loose] == [0.0, 0.0]
    assert math.isnan(learn("naive", log, replace(quick, epochs=1), 0).best.pulled)


@pytest.mark.parametrize(
    ("method", "kind", "who"),
    [
        ("weighted-reg", DivergenceKind.EXACT, "the exact divergence"),
        ("balanced-reg", DivergenceKind.VARIATIONAL, "balanced-reg"),
    ],
)
def test_unknown_loggers_are_said(
    log: TrainingLog, quick: EverySetting, method: str, kind: DivergenceKind, who: str
) -> None:
    with pytest.raises(BadInput, match=f"^{who} needs the loggers' own policies"):
        learn(method, replace(log, logger_logits=()), replace(quick, divergence=kind), 0)


def test_variational_constraint_needs_no_loggers(log: TrainingLog, quick: EverySetting) -> None:
    record = learn("weighted-reg", replace(log, logger_logits=()), replace(quick, epochs=2), 0).best
    assert math.isnan(record.constraint)
    assert all(math.isfinite(value) for value in record.variational)
