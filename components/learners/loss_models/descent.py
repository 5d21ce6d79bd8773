"""How the networks of a loss model descend: one after the other, or all in one step.

Small networks on small batches spend most of a step outside arithmetic. Stepping all of an ensemble together
takes a fraction of the time. It draws in another order, so that the methods whose numbers are published keep
to the first.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from multilogger.components.learners.training.state import State, optimiser_state, restore_optimiser
from multilogger.components.policies.blends import StartedNetwork
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.stacks import NetworkStack

if TYPE_CHECKING:
    from multilogger.components.learners.loss_models.ensemble import LossEnsemble


class Descent(Protocol):
    """Steps of the networks of one model, and the state of their optimisers."""

    def run_epoch(self, model: "LossEnsemble", rate: float) -> None:
        """Every member once through the groups of rows that it may see."""

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


class OneByOne:
    """Member after member."""

    def __init__(self, members: Sequence[PolicyNetwork], weight_decay: float) -> None:
        self.members = members
        self.optimisers = [
            torch.optim.AdamW(member.parameters(), weight_decay=weight_decay) for member in members
        ]

    def run_epoch(self, model: "LossEnsemble", rate: float) -> None:
        settings = model.settings
        for k, optimiser in enumerate(self.optimisers):
            optimiser.param_groups[0]["lr"] = rate
            order = _shuffled(model, k)
            for groups in torch.split(order, settings.batch_of(len(model.x))):
                if len(groups) > settings.batch_norm:  # no statistics of a single context
                    self._step(model, k, groups)

    def _step(self, model: "LossEnsemble", k: int, groups: Tensor) -> None:
        member, optimiser = self.members[k], self.optimisers[k]
        member.train()
        x = model.x.index_select(0, model.context[groups])
        loss = model.batch_loss(k, groups, member.thinned(x, model.thin_inputs, model.thin_hidden))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def state(self) -> State:
        state = State()
        for k, optimiser in enumerate(self.optimisers):
            state |= optimiser_state(optimiser).under(f"optimiser-{k}")
        return state

    def restore(self, state: State) -> None:
        for k, optimiser in enumerate(self.optimisers):
            restore_optimiser(optimiser, state.below(f"optimiser-{k}"))


class Together:
    """All members in each step, every one on a batch of its own.

    What networks are added to is worked out once for all contexts. Where members see different numbers of
    groups, those that see fewer begin their round again, so that each step is one of all.
    """

    def __init__(self, model: "LossEnsemble", members: Sequence[StartedNetwork]) -> None:
        self.stack = NetworkStack(members)
        self.optimiser = torch.optim.AdamW(
            self.stack.parameters(), weight_decay=model.settings.weight_decay, fused=True
        )
        first = members[0]
        # Contexts are shared by all starts that leave them as they are: wide ones take the memory.
        self.x = model.x if bool((first.scale == 1.0).all()) else model.x * first.scale
        self.base = first.base(model.x) if first.adds else None

    @staticmethod
    def suits(model: "LossEnsemble") -> bool:
        """Networks without BatchNorm, each of which has something to see."""
        seen = [bool(model.seen_by(k).any()) for k in range(model.settings.folds)]
        return all(seen) and not model.settings.batch_norm

    def run_epoch(self, model: "LossEnsemble", rate: float) -> None:
        self.optimiser.param_groups[0]["lr"] = rate
        orders = [_shuffled(model, k) for k in range(model.settings.folds)]
        steps = torch.arange(max(map(len, orders)))
        order = torch.stack([one[steps % len(one)] for one in orders])
        for groups in torch.split(order, model.settings.batch_of(len(model.x)), dim=1):
            contexts = model.context[groups]
            x = self.x.index_select(0, contexts.flatten()).view(*contexts.shape, -1)
            outputs = self.stack(x, model.thin_inputs, model.thin_hidden)
            if self.base is not None:
                outputs = outputs + self.base[contexts]
            loss = model.joint_loss(groups, outputs)
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()

    def state(self) -> State:
        return optimiser_state(self.optimiser).under("optimiser")

    def restore(self, state: State) -> None:
        restore_optimiser(self.optimiser, state.below("optimiser"))


def _shuffled(model: "LossEnsemble", k: int) -> Tensor:
    """The groups of rows that member k may see, in an order drawn anew."""
    seen = torch.flatten(torch.nonzero(model.seen_by(k)))
    return seen[torch.randperm(len(seen), generator=model.generator)]
