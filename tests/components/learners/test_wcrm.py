from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from multilogger.components.learners.methods import learn
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.wcrm import GridPoint, WCRMLearner
from multilogger.components.policies import log_probability


@pytest.fixture
def learner(log: TrainingLog, quick: LearnerSettings) -> WCRMLearner:
    return WCRMLearner(log, quick, seed=0)


def test_objective_by_hand(learner: WCRMLearner, log: TrainingLog, rng: np.random.Generator) -> None:
    weights = rng.normal(size=(5, 3))
    part = learner.measure.train
    coefficients = rng.uniform(0.5, 2.0, size=len(part.delta))
    logits = np.hstack([np.asarray(log.x, dtype=np.float64), np.ones((log.contexts, 1))]) @ weights
    ratio = np.exp(log_probability(logits[part.context], part.action) - part.log_propensity)
    u = coefficients * np.minimum(ratio, 2.0) * learner.losses.numpy()
    expected = u.mean() + 0.3 * np.sqrt(u.var(ddof=1) / len(u)) + 0.01 * np.square(weights[:-1]).sum()
    value = learner.objective(
        torch.from_numpy(weights), torch.from_numpy(coefficients), GridPoint(2.0, 0.3, 0.01)
    )
    assert float(value) == pytest.approx(expected, rel=1e-6)


def test_penalty_is_on_the_distance_from_a_warm_start(log: TrainingLog, quick: LearnerSettings) -> None:
    learner = WCRMLearner(log, replace(quick, warm_start=20), seed=0)
    start = torch.from_numpy(learner.start).view(5, 3)
    coefficients = torch.ones(len(learner.losses), dtype=torch.float64)

    def penalty(weights: Tensor) -> float:
        values = [learner.objective(weights, coefficients, GridPoint(2.0, 0.0, l2)) for l2 in (1.0, 0.0)]
        return float(values[0] - values[1])

    assert penalty(start) == 0.0 != float(start.norm())
    assert penalty(start + 0.5) == pytest.approx(0.25 * start[:-1].numel())


def test_gradient_in_float64(learner: WCRMLearner) -> None:
    weights = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    coefficients = torch.ones(len(learner.losses), dtype=torch.float64)

    def objective(weights: Tensor) -> Tensor:
        return learner.objective(weights, coefficients, GridPoint(5.0, 0.5, 0.01))

    assert torch.autograd.gradcheck(objective, (weights.requires_grad_(),))


def test_every_grid_point_is_tried(log: TrainingLog, quick: LearnerSettings) -> None:
    learned = learn("wcrm", log, replace(quick, patience=1), 0)
    assert len(learned.records) == 2 * 1 * 3
    assert learned.policy.size.hidden == ()


def test_larger_l2_gives_smaller_weights(log: TrainingLog, quick: LearnerSettings) -> None:
    norms = []
    for l2 in (1e-3, 1.0):
        policy = learn("wcrm", log, replace(quick, wcrm_clips=(10.0,), wcrm_l2s=(l2,)), 0).policy
        norms.append(float(policy.network.get_parameter("layers.0.weight").detach().norm()))
    assert norms[1] < 0.5 * norms[0]
