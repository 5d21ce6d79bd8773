"""The -exact methods: a constraint that holds, and a multiplier that means something."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from multilogger.components.actions.torch_labels import KnownLabelLoggers, log_probability
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import exact_divergence, harmonic_divergence_bound
from multilogger.components.learners.exact.batches import ExactBatch, MemoryContexts
from multilogger.components.learners.exact.exact import ExactLearner
from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.training.objectives import (
    BALANCED,
    NAIVE,
    WEIGHTED,
    Objective,
    minibatch_risk,
)
from multilogger.components.learners.training.row_batches import MemoryRows
from multilogger.components.learners.training.settings import Weights
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import EverySetting, learn
from tests.components.learners.exact.lagrangian import descended, lagrangian

OBJECTIVES = pytest.mark.parametrize("objective", [NAIVE, WEIGHTED, BALANCED], ids=lambda o: o.name)
ESTIMATORS = pytest.mark.parametrize("estimator", ["naive", "weighted", "balanced"])


def batches(learner: ExactLearner, steps: int) -> Iterator[ExactBatch]:
    assert isinstance(learner.rows, MemoryContexts)
    return learner.rows.batches(steps)


def whole_log(learner: ExactLearner) -> ExactBatch:
    """All contexts and rows as one batch."""
    return next(batches(learner, 1))


def in_float64(log: TrainingLog, objective: Objective, settings: EverySetting) -> ExactLearner:
    learner = ExactLearner(log, objective, settings.exact(), seed=0)
    learner.network.double()
    learner.x = learner.x.double()
    learner.loggers = learner.loggers.to(torch.float64)
    return learner


def parts(learner: ExactLearner, batch: ExactBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """R and g on a batch."""
    logits = learner.network(learner.x.index_select(0, batch.contexts))
    risk = learner.risk(logits, batch, learner.lambdas(), learner.shift)
    return risk, learner.constraint(logits, batch, learner.log_shares()) - learner.log_bound()


@ESTIMATORS
def test_binding_constraint_is_met_with_complementary_slackness(
    log: TrainingLog, quick: EverySetting, estimator: str
) -> None:
    settings = replace(quick, epochs=40, patience=40, batch_norm=False, kappa=0.5, warm_up_epochs=5)
    run = learn(f"{estimator}-exact", log, settings, 0)
    last = run.records[-1]
    allowed = last.constraint + last.slack
    assert last.constraint == pytest.approx(allowed, rel=0.05)
    assert last.multiplier > 0.01
    excess = math.log1p(last.constraint) - math.log1p(allowed)
    assert abs(last.multiplier * excess) < 0.02
    assert run.best.eligible
    assert run.best.slack >= -0.05 * (1.0 + allowed)


@ESTIMATORS
def test_multiplier_rests_at_zero_where_the_constraint_is_slack(
    log: TrainingLog, quick: EverySetting, estimator: str
) -> None:
    settings = replace(quick, epochs=5, warm_up_epochs=2)
    one, other = (learn(f"{estimator}-exact", log, replace(settings, kappa=k), 0) for k in (1e6, 1e9))
    assert all(record.multiplier == 0.0 for record in one.records)
    np.testing.assert_array_equal(one.policy.logits(log.x), other.policy.logits(log.x))


@OBJECTIVES
@pytest.mark.parametrize("weights", Weights)
def test_slack_lagrangian_is_the_risk_of_the_direct_twin(
    log: TrainingLog, quick: EverySetting, objective: Objective, weights: Weights
) -> None:
    """On the whole log, where both see the same rows, value and gradient agree."""
    settings = replace(quick, kappa=1e9, weights=weights, batch_norm=False, warm_up_epochs=0)
    exact = ExactLearner(log, objective, settings.exact(), seed=0)
    direct = DirectLearner(log, objective, settings, seed=0)
    value = descended(exact.multiplier, *parts(exact, whole_log(exact)))
    assert isinstance(direct.rows, MemoryRows)
    rows, log_denominator = direct.rows.rows, direct.rows.log_denominator
    all_losses = rows.delta - direct.shift
    log_target = log_probability(direct.network(direct.x[rows.context]), rows.action)
    # Logs of unequal length do not stack as (J, B), so each logger's part of R_mini is taken alone.
    pairs = list(zip(rows.by_logger, direct.shares, strict=True))
    rule = Weights.RAW if weights is Weights.RAW else Weights.CLIP

    def part(own: torch.Tensor, share: float, losses: torch.Tensor) -> torch.Tensor:
        return minibatch_risk(
            log_target[own][None],
            log_denominator[own][None],
            losses[own][None],
            torch.tensor([share], dtype=torch.float32),
            rule,
            settings.clip,
        )

    expected = sum(part(own, share, all_losses) for own, share in pairs)
    assert isinstance(expected, torch.Tensor)
    if weights is Weights.SELF_NORMALISED:
        expected = expected / sum(part(own, share, torch.ones_like(all_losses)) for own, share in pairs)
    assert value.item() == pytest.approx(expected.item(), rel=1e-4)
    ours = torch.autograd.grad(value, list(exact.network.parameters()))
    theirs = torch.autograd.grad(expected, list(direct.network.parameters()))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


@OBJECTIVES
def test_gradient_of_the_lagrangian(log: TrainingLog, quick: EverySetting, objective: Objective) -> None:
    """Against central differences in float64, outside the constraint and with a multiplier above 0."""
    settings = replace(quick, kappa=0.01, weights=Weights.SELF_NORMALISED, clip=1e6, warm_up_epochs=0)
    learner = in_float64(log, objective, settings)
    learner.multiplier = replace(learner.multiplier, value=0.7)
    batch = next(batches(learner, 10))
    double = {name: getattr(batch, name).double() for name in ("log_denominator", "delta")}
    batch = replace(batch, **double)
    learner.network.eval()
    learner.last_snapshot = learner.measure.snapshot(learner.network(learner.x).detach().numpy())
    parameters = tuple(learner.network.parameters())

    def value(*changed: torch.Tensor) -> torch.Tensor:
        names = [name for name, _ in learner.network.named_parameters()]
        network, functional = learner.network, torch.func.functional_call
        learner.network = lambda x: functional(network, dict(zip(names, changed, strict=True)), (x,))  # type: ignore[assignment]
        try:
            return lagrangian(learner.multiplier, *parts(learner, batch))
        finally:
            learner.network = network

    assert learner.excess() > 0
    assert torch.autograd.gradcheck(value, parameters)


@OBJECTIVES
def test_batch_of_all_contexts_has_the_exact_constraint(
    log: TrainingLog, quick: EverySetting, objective: Objective
) -> None:
    learner = ExactLearner(log, objective, quick.exact(), seed=0)
    learner.run_epoch()
    logits, counts = learner.snapshot().logits, learner.measure.counts
    if objective.average:
        expected = harmonic_divergence_bound(log.space, logits, log.logger_logits, counts).log_d2
    else:
        c = np.exp(learner.log_shares().double().numpy())
        expected = math.log(
            c @ [exact_divergence(log.space, logits, table).d2 for table in log.logger_logits]
        )
    least = learner.nearest.log_least(learner.log_shares(), objective.average)
    assert learner.excess() == pytest.approx(expected - least - math.log1p(quick.kappa), abs=1e-5)
    assert learner.record(1).constraint == pytest.approx(math.expm1(expected), rel=1e-4)


def test_huge_divergence_gives_a_finite_gradient(log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, batch_norm=False, warm_up_epochs=0)
    learner = ExactLearner(log, NAIVE, settings.exact(), seed=0)
    with torch.no_grad():
        learner.network.get_parameter("layers.2.bias").fill_(-60.0)
    far = torch.full((log.contexts, log.loggers, 3), 60.0)
    learner.loggers = KnownLabelLoggers(far, torch.zeros(far.shape[:2]))
    risk, excess = parts(learner, whole_log(learner))
    assert excess.item() > 100.0
    value = descended(learner.multiplier, risk, excess)
    gradients = torch.autograd.grad(value, list(learner.network.parameters()))
    assert math.isfinite(value.item())
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_warm_up_descends_the_risk_alone(log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, kappa=0.01, warm_up_epochs=3, epochs=4)
    tight, loose = (learn("naive-exact", log, replace(settings, kappa=k), 0).records for k in (0.01, 1e9))
    assert [record.multiplier > 0 for record in tight] == [False, False, True, True]
    assert [record.pulled for record in tight] == [0.0, 0.0, 0.0, 1.0]
    assert [record.pulled for record in loose] == [0.0] * 4
    assert [a.train_risk == b.train_risk for a, b in zip(tight, loose, strict=True)] == [True] * 3 + [False]


@pytest.mark.parametrize(("kappa", "eligible"), [(1e-4, False), (1e4, True)])
def test_epoch_outside_the_constraint_is_not_eligible(
    log: TrainingLog, quick: EverySetting, kappa: float, eligible: bool
) -> None:
    learner = ExactLearner(log, NAIVE, replace(quick, kappa=kappa).exact(), seed=0)
    learner.run_epoch()
    assert learner.record(1).eligible == eligible


def test_every_kappa_has_a_run_of_its_own_where_loggers_are_far_apart(
    make_log: Callable[..., TrainingLog], quick: EverySetting
) -> None:
    """Counted from 0, bounds of 0.2 and 0.8 would both be out of reach, and their runs the same."""
    log = make_log(alphas=(0.05, 2.0))
    settings = replace(quick, epochs=30, patience=30, batch_norm=False, warm_up_epochs=5)
    tight, loose = (learn("naive-exact", log, replace(settings, kappa=k), 0) for k in (0.2, 0.8))
    allowed = tight.best.constraint + tight.best.slack
    assert (1.0 + allowed) / 1.2 > 1.9, "no policy has a divergence of 0.8 from these loggers"
    assert tight.best.eligible
    assert tight.best.constraint < loose.best.constraint


@ESTIMATORS
def test_unknown_loggers_are_said(log: TrainingLog, quick: EverySetting, estimator: str) -> None:
    with pytest.raises(BadInput, match=f"^{estimator}-exact needs the loggers' own policies"):
        learn(f"{estimator}-exact", replace(log, logger_logits=()), quick, 0)
