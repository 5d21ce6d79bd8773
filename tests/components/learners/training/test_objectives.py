import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from multilogger.components.actions.torch_labels import log_probability
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import (
    lambda_weighted_risk,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.learners.training.network_learner import RiskLearner
from multilogger.components.learners.training.objectives import (
    BALANCED,
    NAIVE,
    WEIGHTED,
    Objective,
    constraint_shares,
    floor_shares,
    minibatch_risk,
    shift_from,
)
from multilogger.components.learners.training.row_measures import MemoryMeasure
from multilogger.components.learners.training.settings import LossShift, Weights
from multilogger.components.log.memory import TrainingLog
from tests.components.estimators.risks import (
    balanced_risk,
    naive_risk,
)
from tests.components.every_setting import EverySetting, learn

OBJECTIVES = [NAIVE, WEIGHTED, BALANCED]


def small_batch(rng: np.random.Generator) -> LoggedBatch:
    """Two rows of one logger, five of the other."""
    logger = np.array([0, 0, 1, 1, 1, 1, 1])
    table = np.log(rng.uniform(0.1, 0.9, size=(7, 2)))
    return LoggedBatch(
        logger=logger,
        delta=rng.integers(0, 4, size=7).astype(np.float64),
        log_propensity=table[np.arange(7), logger],
        log_target=np.log(rng.uniform(0.1, 0.9, size=7)),
        max_loss=3.0,
        log_propensities=table,
    )


def rows_risk(objective: Objective, batch: LoggedBatch, rows: list[list[int]], weights: Weights) -> float:
    """The mini-batch risk of chosen rows, in float64."""
    shares = objective.shares(batch, EverySetting(weights=Weights.RAW).rules)
    denominator = batch.log_propensity
    if objective.average:
        assert batch.log_propensities is not None
        mixture = np.exp(batch.log_propensities) @ batch.counts / batch.rows
        denominator = np.log(mixture)
    log_target, log_denominator, losses = (
        torch.from_numpy(column[rows]) for column in (batch.log_target, denominator, batch.delta)
    )
    return float(minibatch_risk(log_target, log_denominator, losses, torch.from_numpy(shares), weights))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.name)
@pytest.mark.parametrize("size", [1, 2])
def test_minibatch_risk_is_unbiased_for_unequal_loggers(
    rng: np.random.Generator, objective: Objective, size: int
) -> None:
    """The mean over every possible mini-batch is the risk of the whole log."""
    batch = small_batch(rng)
    own = [np.flatnonzero(batch.logger == j).tolist() for j in range(2)]
    draws = [itertools.combinations(rows, size) for rows in own]
    risks = [
        rows_risk(objective, batch, [list(rows) for rows in pair], Weights.RAW)
        for pair in itertools.product(*draws)
    ]
    shares = objective.shares(batch, EverySetting(weights=Weights.RAW).rules)
    whole = balanced_risk(batch) if objective.average else lambda_weighted_risk(batch, shares / batch.counts)
    assert np.mean(risks) == pytest.approx(whole.value, rel=1e-12)


def test_printed_scaling_is_biased_for_unequal_loggers(rng: np.random.Generator) -> None:
    batch = small_batch(rng)
    u = np.exp(batch.log_target - batch.log_propensity) * batch.delta
    printed = batch.rows / 2 * sum(u[batch.logger == j].mean() / batch.rows for j in range(2))
    assert printed != pytest.approx(naive_risk(batch).value, rel=1e-3)


@pytest.mark.parametrize("weights", Weights)
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.02, 0.98)])
def test_gradient_in_float64(weights: Weights, shares: tuple[float, float]) -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(8, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    action = (torch.rand(8, 3, generator=generator) < 0.5).double()
    denominator = torch.log(torch.rand(2, 4, dtype=torch.float64, generator=generator) * 0.3 + 0.02)
    losses = torch.randn(2, 4, dtype=torch.float64, generator=generator)

    def risk(logits: Tensor) -> Tensor:
        log_target = log_probability(logits, action).view(2, 4)
        return minibatch_risk(
            log_target, denominator, losses, torch.tensor(shares, dtype=torch.float64), weights, clip=1.0
        )

    assert torch.autograd.gradcheck(risk, (logits,))


def test_clipped_rows_pull_no_more() -> None:
    log_target = torch.tensor([[-0.1], [-3.0]], requires_grad=True)
    denominator = torch.tensor([[-3.0], [-3.0]])
    value = minibatch_risk(
        log_target, denominator, torch.ones(2, 1), torch.tensor([0.5, 0.5]), Weights.CLIP, clip=2.0
    )
    assert float(value.detach()) == pytest.approx(0.5 * 2.0 + 0.5 * 1.0)
    (gradient,) = torch.autograd.grad(value, log_target)
    assert gradient.flatten().tolist() == pytest.approx([0.0, 0.5])


def test_self_normalised_constant_loss_has_no_pull() -> None:
    log_target = torch.tensor([[-0.1, -1.0], [-3.0, -0.2]], requires_grad=True)
    value = minibatch_risk(
        log_target, torch.full((2, 2), -2.0), torch.full((2, 2), 4.0), torch.tensor([0.3, 0.7]),
        Weights.SELF_NORMALISED, clip=100.0,
    )  # fmt: skip
    assert float(value.detach()) == pytest.approx(4.0)
    (gradient,) = torch.autograd.grad(value, log_target)
    assert gradient.abs().max() < 1e-6


def test_frozen_lambda_is_naive(rng: np.random.Generator) -> None:
    batch = small_batch(rng)
    frozen = EverySetting(freeze_lambda=True).rules
    np.testing.assert_allclose(WEIGHTED.shares(batch, frozen), [2 / 7, 5 / 7])
    assert WEIGHTED.shares(batch, EverySetting().rules)[0] != pytest.approx(2 / 7)


@pytest.mark.parametrize(
    ("shares", "floor", "expected"),
    [
        ([0.001, 0.999], 0.0, [0.001, 0.999]),
        ([0.001, 0.999], 0.1, [0.1, 0.9]),
        ([0.0, 1.0], 0.5, [0.5, 0.5]),
        ([0.01, 0.11, 0.88], 0.1, [0.1, 0.1, 0.8]),
        ([0.2, 0.3, 0.5], 0.1, [0.2, 0.3, 0.5]),
    ],
)
def test_floor_of_shares(shares: list[float], floor: float, expected: list[float]) -> None:
    floored = floor_shares(np.array(shares), floor)
    np.testing.assert_allclose(floored, expected, atol=2e-3)
    assert floored.sum() == pytest.approx(1.0)
    assert floored.min() >= floor - 1e-12


def test_floor_too_high_for_the_loggers() -> None:
    message = "lambda_floor can be at most 1/2 for 2 loggers, got 0.6"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        floor_shares(np.array([0.5, 0.5]), 0.6)


def test_floor_of_the_constraint_gives_way_to_many_loggers() -> None:
    shares = np.array([0.97, 0.01, 0.01, 0.01])
    np.testing.assert_allclose(constraint_shares(shares, 0.1), [0.7, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(constraint_shares(shares, 0.4), 0.25)
    assert constraint_shares(shares, 0.0) is shares


def test_shifts(log: TrainingLog) -> None:
    part = log.part(validation=False)
    means = [float(part.delta[part.logger == j].mean()) for j in range(2)]
    assert shift_from(means, 3, LossShift.NONE) == 0.0
    assert shift_from(means, 3, LossShift.POEM) == 3.0
    for shift in (LossShift.BASELINE, LossShift.RUNNING):
        assert shift_from(means, 3, shift) == min(means)
        assert MemoryMeasure(log, NAIVE, EverySetting(loss_shift=shift).rules).loss_shift() == min(means)


def test_a_share_of_the_shift_by_hand(log: TrainingLog) -> None:
    """Of the mean losses 3 and 1.5 the baseline is 1.5; a third of it is 0.5."""
    measure = MemoryMeasure(log, NAIVE, EverySetting(shift_share=1 / 3).rules)
    measure.mean_losses = lambda: (3.0, 1.5)  # type: ignore[method-assign]
    assert measure.loss_shift() == pytest.approx(0.5)
    assert MemoryMeasure(log, NAIVE, EverySetting(shift_share=0.0).rules).loss_shift() == 0.0


@pytest.mark.parametrize("method", ["naive", "weighted-reg", "weighted-exact", "wcrm"])
@pytest.mark.parametrize("shift", [LossShift.BASELINE, LossShift.POEM, LossShift.RUNNING])
def test_no_share_of_a_shift_is_no_shift(
    method: str, shift: LossShift, log: TrainingLog, quick: EverySetting
) -> None:
    short = replace(quick, epochs=3, loss_shift=shift)
    no_share, half = replace(short, shift_share=0.0), replace(short, shift_share=0.5)
    none = replace(short, loss_shift=LossShift.NONE)
    logits = [learn(method, log, settings, 0).policy.logits(log.x) for settings in (none, no_share, half)]
    np.testing.assert_array_equal(logits[0], logits[1])
    assert np.abs(logits[0] - logits[2]).max() > 0


def test_a_running_shift_is_shared_too(log: TrainingLog, quick: EverySetting) -> None:
    """What an epoch subtracts is half of what it would subtract whole."""
    shifts = []
    for share in (1.0, 0.5):
        settings = replace(quick, loss_shift=LossShift.RUNNING, shift_share=share)
        learner = RiskLearner(log, MemoryMeasure(log, WEIGHTED, settings.rules), settings, seed=0)
        shifts.append(learner.update_shares())
    assert shifts[1] == pytest.approx(shifts[0] / 2)
