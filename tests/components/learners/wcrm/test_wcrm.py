from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import log_probability
from multilogger.components.learners.wcrm.objective import GridPoint, MemoryObjective, StreamedObjective
from multilogger.components.learners.wcrm.wcrm import WCRMLearner
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog, densify
from tests.components.every_setting import EverySetting, learn

SHIFT = 0.8


def wide(log: TrainingLog) -> Tensor:
    """Contexts and a column of 1."""
    return torch.cat([torch.from_numpy(densify(log.x)).double(), torch.ones(log.contexts, 1).double()], 1)


@pytest.fixture
def objective(log: TrainingLog) -> MemoryObjective:
    return MemoryObjective(log.space.torch, wide(log), log.part(validation=False), SHIFT, np.zeros((5, 3)))


def test_objective_by_hand(objective: MemoryObjective, log: TrainingLog, rng: np.random.Generator) -> None:
    weights = rng.normal(size=(5, 3))
    part = log.part(validation=False)
    coefficients = rng.uniform(0.5, 2.0, size=len(part.delta))
    logits = wide(log).numpy() @ weights
    ratio = np.exp(log_probability(logits[part.context], part.action) - part.log_propensity)
    u = coefficients * np.minimum(ratio, 2.0) * (part.delta - SHIFT)
    expected = u.mean() + 0.3 * np.sqrt(u.var(ddof=1) / len(u)) + 0.01 * np.square(weights[:-1]).sum()
    value = objective.value(
        torch.from_numpy(weights), torch.from_numpy(coefficients), GridPoint(2.0, 0.3, 0.01)
    )
    assert float(value) == pytest.approx(expected, rel=1e-6)


def test_penalty_is_on_the_distance_from_a_warm_start(log: TrainingLog, quick: EverySetting) -> None:
    learner = WCRMLearner(log, replace(quick, warm_start=20), seed=0)
    start, factors = learner.start, np.ones(2)

    def penalty(weights: Matrix) -> float:
        values = [learner.objective(weights, factors, GridPoint(2.0, 0.0, l2)).value for l2 in (1.0, 0.0)]
        return values[0] - values[1]

    assert penalty(start) == 0.0 != float(np.linalg.norm(start))
    assert penalty(start + 0.5) == pytest.approx(0.25 * start[:-1].size)


def test_gradient_in_float64(objective: MemoryObjective) -> None:
    weights = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    coefficients = torch.ones(len(objective.losses), dtype=torch.float64)

    def value(weights: Tensor) -> Tensor:
        return objective.value(weights, coefficients, GridPoint(5.0, 0.5, 0.01))

    assert torch.autograd.gradcheck(value, (weights.requires_grad_(),))


@pytest.mark.parametrize("variance", [0.0, 0.5])
@pytest.mark.parametrize("clip", [1.5, 1e6])
def test_one_pass_over_a_log_on_disk_gives_value_and_gradient(
    log: TrainingLog, streamed: StreamedLog, objective: MemoryObjective, variance: float, clip: float
) -> None:
    weights, factors = np.random.default_rng(1).normal(size=(5, 3)), np.array([0.4, 1.9])
    point, start = GridPoint(clip, variance, 0.01), np.full((5, 3), 0.25)
    objective.start = torch.from_numpy(start)
    found = StreamedObjective(wide(log), streamed, SHIFT, start)(weights, factors, point)
    expected = objective(weights, factors, point)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-13)


def test_every_grid_point_is_tried(log: TrainingLog, quick: EverySetting) -> None:
    learned = learn("wcrm", log, replace(quick, patience=1), 0)
    assert len(learned.records) == 2 * 1 * 3
    assert learned.policy.size.hidden == ()


def test_larger_l2_gives_smaller_weights(log: TrainingLog, quick: EverySetting) -> None:
    norms = []
    for l2 in (1e-3, 1.0):
        policy = learn("wcrm", log, replace(quick, wcrm_clips=(10.0,), wcrm_l2s=(l2,)), 0).policy
        norms.append(float(policy.network.get_parameter("layers.0.weight").detach().norm()))
    assert norms[1] < 0.5 * norms[0]
