"""All discriminators side by side are what each would be alone."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from multilogger.components.errors import BadInput
from multilogger.components.learners.reg.discriminators import Discriminators
from multilogger.components.policies.network_size import LINEAR, NetworkSize


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draws(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def test_linear_discriminators_by_hand() -> None:
    bank = Discriminators(2, 2, 2, LINEAR, seeded())
    with torch.no_grad():
        bank.of_context.copy_(torch.tensor([[[1.0, 10.0]], [[2.0, 20.0]]]))
        bank.of_action.copy_(torch.tensor([[[1e3, 1e4]], [[2e3, 2e4]]]))
        bank.biases[0].copy_(torch.tensor([[[100.0]], [[200.0]]]))
    x = torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
    y = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    (values,) = bank.actions(bank.contexts(x), y)
    assert values.tolist() == [[1 + 20 + 100 + 1e3], [6 + 80 + 200 + 2e4]]


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("hidden", [(5,), (5, 4)])
def test_each_is_the_network_of_the_appendix(hidden: tuple[int, ...], batch_norm: bool) -> None:
    """Values of every discriminator against torch's own layers with the same weights, both lots together."""
    bank = Discriminators(3, 4, 2, NetworkSize(hidden, batch_norm), seeded())
    x, fake, real = draws(3, 7, 4), draws(3, 7, 2, seed=2), draws(3, 7, 2, seed=3)
    ours = torch.cat(bank.actions(bank.contexts(x), fake, real), dim=1)
    for j in range(3):
        z = torch.cat([torch.cat([x[j], y[j]], dim=1) for y in (fake, real)])
        firsts = torch.cat([bank.of_context[j], bank.of_action[j]], dim=1)
        weights = [firsts, *(weight[j] for weight in bank.weights)]
        for layer, weight in enumerate(weights):
            z = nn.functional.linear(z, weight, bank.biases[layer][j, :, 0])
            if layer < len(hidden):
                z = nn.BatchNorm1d(hidden[layer])(z).relu() if batch_norm else z.relu()
        torch.testing.assert_close(ours[j], z[:, 0], rtol=1e-4, atol=1e-5)


def test_batch_norm_takes_all_lots_together() -> None:
    bank = Discriminators(1, 2, 2, NetworkSize((8,)), seeded())
    x = draws(1, 4, 2)
    contexts, ones, zeros = bank.contexts(x), torch.ones(1, 4, 2), torch.zeros(1, 4, 2)
    together, _ = bank.actions(contexts, ones, zeros)
    (alone,) = bank.actions(contexts, ones)
    assert float((together - alone).abs().max().detach()) > 1e-3


def test_initialisation_comes_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    first = Discriminators(2, 5, 3, NetworkSize(), seeded(4))
    assert torch.equal(torch.get_rng_state(), before)
    again, other = (Discriminators(2, 5, 3, NetworkSize(), seeded(seed)) for seed in (4, 5))
    assert torch.equal(first.of_context, again.of_context)
    assert not torch.equal(first.of_context, other.of_context)
    assert 0.2 < float(first.of_context.detach().abs().max()) <= 9**-0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda bank: bank.contexts(torch.zeros(2, 7, 3)),
            "T needs contexts of 2 loggers and 5 features, got (2, 7, 3)",
        ),
        (
            lambda bank: bank.actions(bank.contexts(torch.zeros(2, 7, 5)), torch.zeros(2, 6, 3)),
            "T needs one action of 3 numbers per context, 7 for each of 2 loggers, got (2, 6, 3)",
        ),
    ],
)
def test_bad_input(call: Callable[[Discriminators], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call(Discriminators(2, 5, 3, NetworkSize(), seeded()))
