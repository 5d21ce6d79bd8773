"""A stack of networks: each does what it does alone, and steps as it would alone."""

import copy

import torch
from torch import Tensor

from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.stacks import NetworkStack


def keep_all(x: Tensor) -> Tensor:
    return x


def networks(count: int) -> list[PolicyNetwork]:
    generator = torch.Generator().manual_seed(0)
    return [PolicyNetwork(4, 3, NetworkSize((6, 5), batch_norm=False), generator) for _ in range(count)]


def test_a_stack_gives_what_its_networks_give() -> None:
    members = networks(3)
    x = torch.randn(3, 7, 4)
    alone = torch.stack([member(part) for member, part in zip(members, x, strict=True)])
    torch.testing.assert_close(NetworkStack(members)(x, keep_all, keep_all), alone)


def test_a_step_of_the_stack_is_a_step_of_each_network() -> None:
    members, x = networks(3), torch.randn(3, 7, 4)
    twins = copy.deepcopy(members)
    stack = NetworkStack(members)
    together = torch.optim.AdamW(stack.parameters(), lr=1e-2, weight_decay=0.1, fused=True)
    for _ in range(5):
        together.zero_grad()
        stack(x, keep_all, keep_all).square().mean(dim=(1, 2)).sum().backward()
        together.step()
    for twin, part in zip(twins, x, strict=True):
        alone = torch.optim.AdamW(twin.parameters(), lr=1e-2, weight_decay=0.1)
        for _ in range(5):
            alone.zero_grad()
            twin(part).square().mean().backward()
            alone.step()
    for member, twin in zip(members, twins, strict=True):
        for one, other in zip(member.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(one, other)


def test_numbers_given_to_a_network_reach_the_stack() -> None:
    members = networks(2)
    stack = NetworkStack(members)
    kept = {name: torch.full_like(part, 0.5) for name, part in members[1].state_dict().items()}
    members[1].load_state_dict(kept)
    assert all(bool((weight[1] == 0.5).all()) for weight in stack.weights)
    assert not any(bool((weight[0] == 0.5).all()) for weight in stack.weights)
