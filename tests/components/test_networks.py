"""The networks have the appendix's layers, and draw from their own generator only."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import nn

from multilogger.components.errors import BadInput
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import Discriminator, PolicyNetwork


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_layers_of_the_appendix() -> None:
    network = PolicyNetwork(5, 3, NetworkSize(hidden=(7, 6)), seeded())
    kinds = [type(layer) for layer in network.layers]
    block = [nn.Linear, nn.BatchNorm1d, nn.ReLU]
    assert kinds == [*block, *block, nn.Linear]
    assert network(torch.zeros(4, 5)).shape == (4, 3)


def test_batch_norm_can_be_switched_off_and_no_hidden_layer_is_a_linear_map() -> None:
    plain = PolicyNetwork(5, 3, NetworkSize(hidden=(7,), batch_norm=False), seeded())
    assert [type(layer) for layer in plain.layers] == [nn.Linear, nn.ReLU, nn.Linear]
    linear = PolicyNetwork(5, 3, NetworkSize(hidden=()), seeded())
    assert [type(layer) for layer in linear.layers] == [nn.Linear]


def test_initialisation_comes_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    first = PolicyNetwork(5, 3, NetworkSize(), seeded(4))
    assert torch.equal(torch.get_rng_state(), before)
    again = PolicyNetwork(5, 3, NetworkSize(), seeded(4))
    other = PolicyNetwork(5, 3, NetworkSize(), seeded(5))
    x = torch.randn(8, 5, generator=seeded(6))
    assert torch.equal(first(x), again(x))
    assert not torch.equal(first(x), other(x))
    weights = next(first.parameters()).detach()
    assert 0.2 < float(weights.abs().max()) <= 5**-0.5


def test_discriminator_sees_context_constant_and_action() -> None:
    network = Discriminator(2, 2, NetworkSize(hidden=()), seeded())
    (linear,) = network.layers
    assert isinstance(linear, nn.Linear)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 10.0, 100.0, 1e3, 1e4]]))
        linear.bias.zero_()
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1, 0], [0, 1]])
    assert network(x, y).tolist() == [1 + 20 + 100 + 1e3, 3 + 40 + 100 + 1e4]


def test_running_statistics_make_a_row_independent_of_its_batch() -> None:
    network = PolicyNetwork(5, 3, NetworkSize(), seeded())
    x = torch.randn(16, 5, generator=seeded(1))
    assert not torch.allclose(network(x)[:2], network(x[:2]))
    network.eval()
    torch.testing.assert_close(network(x)[:2], network(x[:2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NetworkSize(hidden=(10, 0)), "every hidden layer needs at least 1 node, got (10, 0)"),
        (
            lambda: Discriminator(2, 2, NetworkSize(), seeded())(torch.zeros(3, 2), torch.zeros(2, 2)),
            "T needs one action a context, got 3 contexts and 2 actions",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_both_lots_of_actions_pass_through_as_one(batch_norm: bool) -> None:
    network = Discriminator(4, 3, NetworkSize(hidden=(5,), batch_norm=batch_norm), seeded())
    x, y = torch.randn(7, 4, generator=seeded()), torch.rand(7, 3, generator=seeded())
    gradients = []
    for ask in (lambda y: network(x, y), lambda y: network.of_both((x[:4], y[:4]), (x[4:], y[4:]))):
        actions = y.clone().requires_grad_()
        gradients.append(torch.autograd.grad(ask(actions)[:4].sum(), actions)[0])
        network.zero_grad()
    torch.testing.assert_close(*gradients, rtol=0, atol=0)
    torch.testing.assert_close(network.of_both((x[:4], y[:4]), (x[4:], y[4:])), network(x, y), rtol=0, atol=0)
