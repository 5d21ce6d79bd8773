"""An ensemble of networks that model the loss, each blind to one fold of the contexts."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from multilogger.components.actions.arrays import Matrix
from multilogger.components.learners.loss_models.descent import Descent, OneByOne, Together
from multilogger.components.learners.loss_models.form import LossForm
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.policies.blends import StartedNetwork
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork

BLOCK_CONTEXTS = 4096


class LossEnsemble(ABC):
    """Networks p_1(x)..p_K(x), each fitted on the rows of all contexts but those of its fold.

    `context` (g,) is the context of each group of rows that a step may take; `fold` (m,) is drawn unless it
    is given. `level` (size,) are the outputs of a model that knows no contexts, where there is one.
    """

    form: LossForm

    def __init__(
        self,
        x: Tensor,
        context: Tensor,
        outputs: int,
        settings: LossModelSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
    ) -> None:
        self.x, self.context, self.settings, self.generator = x, context, settings, generator
        self.outputs = outputs
        self.fold = context_folds(len(x), settings.folds, generator) if fold is None else fold
        self.level: Tensor | None = None
        self.replace_members(
            [
                PolicyNetwork(x.shape[1], outputs, settings.policy_size, generator)
                for _ in range(settings.folds)
            ]
        )
        self.epoch = 0

    def replace_members(self, members: Sequence[PolicyNetwork]) -> None:
        """Fit these from now on, one for each fold; those with a start of their own step together."""
        self.members = list(members)
        started = [member for member in members if isinstance(member, StartedNetwork)]
        if len(started) == len(members) and Together.suits(self):
            self.descent: Descent = Together(self, started)
        else:
            self.descent = OneByOne(self.members, self.settings.weight_decay)

    @abstractmethod
    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        """What member k descends at some groups of rows, from its outputs (b, size) at their contexts."""

    @abstractmethod
    def chances(self, outputs: Tensor) -> Tensor:
        """p(x) from a network's outputs (n, size)."""

    @abstractmethod
    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        """The policy that networks of this model's kind make together."""

    def fill(self, network: EnsembleNetwork) -> None:  # noqa: B027, members are shared but for a contest
        """Give a network that `network` made the numbers of the members as they are now."""

    def after_epoch(self) -> None:  # noqa: B027, most models have nothing to do then
        """What is worked out anew once every member has passed."""

    def joint_loss(self, groups: Tensor, outputs: Tensor) -> Tensor:
        """The sum over members of what they descend at groups (K, b), from outputs (K, b, size)."""
        return len(groups) * self.batch_loss(0, groups.flatten(), outputs.flatten(0, 1))

    def run_epoch(self) -> None:
        """Every member once through the contexts that it may see."""
        self.descent.run_epoch(self, self.settings.risk_rate * _decay(self.epoch, self.settings.epochs))
        self.epoch += 1
        self.after_epoch()

    def seen_by(self, k: int) -> Tensor:
        """Which groups of rows member k is fitted to: (g,)."""
        return self.fold[self.context] != k

    def thin_inputs(self, x: Tensor) -> Tensor:
        return self._left_out(x, self.settings.input_dropout)

    def thin_hidden(self, x: Tensor) -> Tensor:
        return self._left_out(x, self.settings.hidden_dropout)

    def _left_out(self, x: Tensor, share: float) -> Tensor:
        """Numbers of which a share is 0, at random, and the others scaled up for them."""
        if share == 0:
            return x
        kept = torch.rand(x.shape, generator=self.generator) >= share
        return x * kept / (1.0 - share)

    def out_of_fold(self, network: EnsembleNetwork | None = None) -> Matrix:
        """p(x) of every context by who has not seen it: a member of the network, if given, or its own."""
        members, chances = self.members, self.chances
        if network is not None:
            members, chances = network.own_members, network.chances
        tables = [self._lots(member, self.fold == k, chances) for k, member in enumerate(members)]
        joined = torch.empty(len(self.x), tables[0].shape[1])
        for k, table in enumerate(tables):
            joined[self.fold == k] = table
        return joined.double().numpy()

    def _lots(self, member: nn.Module, among: Tensor, chances: Callable[[Tensor], Tensor]) -> Tensor:
        """p(x) of the contexts among (m,), without a copy of all of them."""
        lots = torch.split(among.nonzero().flatten(), BLOCK_CONTEXTS)
        return torch.cat([_chances(member, self.x[lot], chances) for lot in lots])

    def member(self, k: int) -> Tensor:
        """p_k(x) of every context, seen or not: (m, size)."""
        return self.member_chances(self.members[k], self.x)

    def member_chances(self, member: nn.Module, x: Tensor) -> Tensor:
        """p(x) of contexts (n, d) by one network: (n, size)."""
        return _chances(member, x, self.chances)

    def state(self) -> State:
        state = State({}, {"epoch": self.epoch})
        for k, member in enumerate(self.members):
            state |= module_state(member).under(f"member-{k}")
        return state | self.descent.state()

    def restore(self, state: State) -> None:
        self.epoch = int(state.numbers["epoch"])
        for k, member in enumerate(self.members):
            member.load_state_dict(state.below(f"member-{k}").tensors)
        self.descent.restore(state)


def _chances(member: nn.Module, x: Tensor, chances: Callable[[Tensor], Tensor]) -> Tensor:
    member.eval()
    with torch.no_grad():
        return torch.cat([chances(member(block)) for block in torch.split(x, BLOCK_CONTEXTS)])


def context_folds(contexts: int, folds: int, generator: torch.Generator) -> Tensor:
    """The fold of every context, in shares as equal as can be: (m,)."""
    fold = torch.empty(contexts, dtype=torch.int64)
    fold[torch.randperm(contexts, generator=generator)] = torch.arange(contexts) % folds
    return fold


def _decay(epoch: int, epochs: int) -> float:
    """A half cosine from 1 to 0 over the run."""
    return 0.5 * (1.0 + math.cos(math.pi * min(epoch / epochs, 1.0)))
