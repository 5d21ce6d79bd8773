"""The networks have the appendix's layers, and draw from their own generator only."""

import re

import pytest
import torch
from torch import nn

from multilogger.components.errors import BadInput
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def layers_of(network: PolicyNetwork) -> list[str]:
    """Names of torch's layers; our own Linear, which draws nothing when it is made, counts as torch's."""
    return ["Linear" if isinstance(layer, nn.Linear) else type(layer).__name__ for layer in network.layers]


def test_layers_of_the_appendix() -> None:
    network = PolicyNetwork(5, 3, NetworkSize(hidden=(7, 6)), seeded())
    block = ["Linear", "BatchNorm1d", "ReLU"]
    assert layers_of(network) == [*block, *block, "Linear"]
    assert network(torch.zeros(4, 5)).shape == (4, 3)


def test_batch_norm_can_be_switched_off_and_no_hidden_layer_is_a_linear_map() -> None:
    plain = PolicyNetwork(5, 3, NetworkSize(hidden=(7,), batch_norm=False), seeded())
    assert layers_of(plain) == ["Linear", "ReLU", "Linear"]
    linear = PolicyNetwork(5, 3, NetworkSize(hidden=()), seeded())
    assert layers_of(linear) == ["Linear"]


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


def test_running_statistics_make_a_row_independent_of_its_batch() -> None:
    network = PolicyNetwork(5, 3, NetworkSize(), seeded())
    x = torch.randn(16, 5, generator=seeded(1))
    assert not torch.allclose(network(x)[:2], network(x[:2]))
    network.eval()
    torch.testing.assert_close(network(x)[:2], network(x[:2]))


def test_bad_input() -> None:
    message = "every hidden layer needs at least 1 node, got (10, 0)"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        NetworkSize(hidden=(10, 0))
