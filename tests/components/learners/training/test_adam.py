"""Our step is torch's own, bit for bit."""

import pytest
import torch

from multilogger.components.learners.training.adam import FusedAdam
from multilogger.components.learners.training.state import optimiser_state, restore_optimiser


def weights() -> list[torch.nn.Parameter]:
    drawn = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=drawn)) for shape in ((5, 3), (5,), (1, 40))]


def loss(parameters: list[torch.nn.Parameter], step: int) -> torch.Tensor:
    return sum(((p - step).square() / (1 + p.abs())).mean() for p in parameters)  # type: ignore[return-value]


@pytest.mark.parametrize(("betas", "decay"), [((0.9, 0.999), 0.0), ((0.9, 0.95), 0.1)])
def test_every_bit_is_that_of_torch(betas: tuple[float, float], decay: float) -> None:
    ours, theirs = weights(), weights()
    adam = FusedAdam(ours, 3e-3, decay, betas)
    of_torch = torch.optim.AdamW(theirs, lr=3e-3, betas=betas, weight_decay=decay, fused=True)
    for step in range(20):
        adam.descend(loss(ours, step))
        of_torch.zero_grad()
        loss(theirs, step).backward()  # type: ignore[no-untyped-call]
        of_torch.step()
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)


def test_without_decay_it_is_adam() -> None:
    ours, theirs = weights(), weights()
    adam, of_torch = FusedAdam(ours, 1e-2), torch.optim.Adam(theirs, lr=1e-2, fused=True)
    for step in range(5):
        adam.descend(loss(ours, step))
        of_torch.zero_grad()
        loss(theirs, step).backward()  # type: ignore[no-untyped-call]
        of_torch.step()
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)


def test_goes_on_from_its_state() -> None:
    whole, broken = weights(), weights()
    one, other = FusedAdam(whole, 1e-2), FusedAdam(broken, 1e-2)
    for step in range(6):
        if step == 3:
            state = optimiser_state(other)
            other = FusedAdam(broken, 1e-2)
            restore_optimiser(other, state)
        one.descend(loss(whole, step))
        other.descend(loss(broken, step))
    for left, right in zip(whole, broken, strict=True):
        assert torch.equal(left, right)


def test_factors_weigh_gradients() -> None:
    ours, theirs = weights(), weights()
    adam, other = FusedAdam(ours, 1e-2), FusedAdam(theirs, 1e-2)
    for step in range(3):
        adam.descend(loss(ours, step), loss(ours, -step), factors=[torch.tensor(0.25), torch.tensor(2.0)])
        other.descend(0.25 * loss(theirs, step) + 2.0 * loss(theirs, -step))
    for one, same in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, same)
