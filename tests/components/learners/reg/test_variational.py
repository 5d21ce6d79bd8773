"""The variational objective against the closed-form divergence."""

import re

import pytest
import torch
from torch import Tensor

from multilogger.components.actions import torch_labels
from multilogger.components.actions.labels import Labels, all_actions
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import exact_divergence
from multilogger.components.learners.reg.discriminators import Discriminators
from multilogger.components.learners.reg.variational import (
    f,
    f_star,
    variational_value,
)
from multilogger.components.policies.network_size import NetworkSize

# Four contexts, two labels.
X = torch.tensor([[-1.0, 0.5], [0.0, -1.0], [1.0, 0.0], [0.5, 1.0]])
H = torch.tensor([[1.0, -0.5], [0.3, 0.8], [-1.0, 0.0], [0.5, 1.2]])
H_J = torch.tensor([[0.0, 0.2], [-0.2, 0.0], [0.1, -0.3], [0.0, 0.1]])
ACTIONS = torch.from_numpy(all_actions(2)).float()
D_F = exact_divergence(Labels(H.shape[1]), H.double().numpy(), H_J.double().numpy()).d_f


def probabilities(logits: Tensor) -> Tensor:
    """h(y|x) of each context and action, contexts slowest: (4 * 4,)."""
    repeated = logits.repeat_interleave(len(ACTIONS), dim=0)
    return torch_labels.log_probability(repeated, ACTIONS.repeat(len(logits), 1)).exp()


def exact_value(t: Tensor) -> float:
    """F with both expectations as sums over all contexts and actions, T given on that grid."""
    return float((probabilities(H) * t - probabilities(H_J) * f_star(t)).sum() / len(X))


def grid_values(discriminator: Discriminators) -> Tensor:
    """T on the grid, where both halves of a batch with BatchNorm have the grid's own statistics."""
    x, y = X.repeat_interleave(len(ACTIONS), dim=0), ACTIONS.repeat(len(X), 1)
    with torch.no_grad():
        (values,) = discriminator.actions(discriminator.contexts(x[None]), y[None])
    return values[0]


def objective(discriminator: Discriminators, x: Tensor, y_policy: Tensor, y_logger: Tensor) -> Tensor:
    """F of the only logger."""
    contexts = discriminator.contexts(x[None])
    return variational_value(*discriminator.actions(contexts, y_policy[None], y_logger[None]))[0]


def test_conjugate_by_search() -> None:
    u = torch.linspace(-30.0, 30.0, 60_001, dtype=torch.float64)
    for t in (-3.0, -2.0, 0.0, 0.7, 5.0):
        supremum = (u * t - f(u)).max()
        assert f_star(torch.tensor(t, dtype=torch.float64)).item() == pytest.approx(supremum.item(), abs=1e-6)


def test_gradient_of_both_players() -> None:
    """F in T's weights, which ascend it, and in the policy's logits, which descend through relaxed labels."""
    size = NetworkSize((5,), False)
    discriminator = Discriminators(1, 2, 2, size, torch.Generator().manual_seed(4)).double()

    def value(logits: Tensor, *_: Tensor) -> Tensor:
        y = torch_labels.relaxed_sample(logits, 0.7, torch.Generator().manual_seed(5))
        return objective(discriminator, X.double(), y, ACTIONS.double())

    assert torch.autograd.gradcheck(value, (H.double().requires_grad_(), *discriminator.parameters()))


def test_no_discriminator_gives_zero_and_the_best_one_the_divergence() -> None:
    assert exact_value(torch.zeros(16)) == 0.0
    best = 2.0 * (probabilities(H) / probabilities(H_J) - 1.0)  # f'(h/h_j)
    assert exact_value(best) == pytest.approx(D_F, rel=1e-5)
    for bump in (0.3, -0.3):
        assert exact_value(best + bump) < D_F - 0.01


def test_the_printed_conjugate_gives_the_same_value_two_higher() -> None:
    t = torch.linspace(-2.0, 3.0, 16)
    printed = (probabilities(H) * (t + 2) - probabilities(H_J) * ((t + 2) ** 2 / 4 + 1)).sum() / len(X)
    assert exact_value(t) == pytest.approx(float(printed), abs=1e-5)


def train(size: NetworkSize, steps: int) -> Discriminators:
    """Algorithm 2, steps 2, 3 and 5, with sampled mini-batches and a fixed policy."""
    generator = torch.Generator().manual_seed(11)
    discriminator = Discriminators(1, 2, 2, size, generator)
    optimiser = torch.optim.Adam(discriminator.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.02, total_iters=steps)
    for _ in range(steps):
        rows = torch.randint(len(X), (1024,), generator=generator)
        y_policy = torch_labels.sample(H[rows], generator)
        y_logger = torch_labels.sample(H_J[rows], generator)
        optimiser.zero_grad()
        loss = -objective(discriminator, X[rows], y_policy, y_logger)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return discriminator


@pytest.mark.parametrize("batch_norm", [False, True])
def test_trained_discriminator_reaches_the_closed_form(batch_norm: bool) -> None:
    size = NetworkSize(hidden=(32, 32), batch_norm=batch_norm)
    assert exact_value(grid_values(train(size, 0))) < 0.5 * D_F
    value = exact_value(grid_values(train(size, 300)))
    assert 0.95 * D_F < value <= D_F * (1 + 1e-5)


def test_gradient_through_relaxed_samples_points_along_the_exact_one() -> None:
    discriminator = train(NetworkSize(hidden=(32, 32), batch_norm=False), 300)
    logits = H.clone().requires_grad_()
    rows = torch.arange(4).repeat(5000)
    generator = torch.Generator().manual_seed(0)
    y = torch_labels.relaxed_sample(logits[rows], 0.5, generator)
    y_logger = torch_labels.sample(H_J[rows], generator)
    value = objective(discriminator, X[rows], y, y_logger)
    (ours,) = torch.autograd.grad(value, logits)
    (exact,) = torch.autograd.grad(torch_labels.log_d2(logits, H_J).exp().mean(), logits)
    assert float(torch.cosine_similarity(ours.flatten(), exact.flatten(), dim=0)) > 0.9


def test_bad_input() -> None:
    message = "F needs actions of the policy and of the logger, got 3 and 0"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        variational_value(torch.zeros(3), torch.zeros(0))
