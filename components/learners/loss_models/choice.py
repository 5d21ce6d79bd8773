"""The loss model of one-of-K actions: the chance that each action is right, fitted to logged losses alone.

q(x, a) = 1 - p_a(x), losses scaled to [0, 1]. Not in the paper.
"""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid

from multilogger.components.actions.torch_one_of import TorchOneOf
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.form import LEAST_CHANCE, ChoiceForm
from multilogger.components.learners.loss_models.pair_sums import PairSums, RightActions
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.learners.training.row_batches import PaddedGroups
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.policies.networks import ChanceEnsemble, EnsembleNetwork, PolicyNetwork

RULED_OUT = -30.0  # added to the output of an action that nobody took
NO_CHANCE = -1e9  # as a logarithm; minus infinity would leave no gradient where no action was wrong


class ChoiceModel(LossEnsemble):
    """Members fitted by the likelihood of what was logged.

    Where one action alone is right, p = softmax(z) and the rows of a context speak together: the right action
    if it was seen has log p_a, else the actions seen were all wrong, log(1 - sum_a p_a). Where any number may
    be right (`independent`), p_a = sigmoid(z_a), and each row speaks for itself; a loss between 0 and 1
    counts as that share of a wrong row.
    Choice: an action that no row took has no chance. Nothing is known of it, and where rewards are rare, or
    where all that was tried is wrong, a network that was never told otherwise would prefer it to all others.
    For the same reason chances of independent actions start at the mean of the log.
    """

    form = ChoiceForm()

    def __init__(
        self,
        x: Tensor,
        pairs: PairSums,
        actions: int,
        settings: LossModelSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
        independent: bool = False,
    ) -> None:
        groups = PaddedGroups.of(pairs.context)
        super().__init__(x, groups.context, actions, settings, generator, fold)
        self.space, self.pairs, self.independent = TorchOneOf(actions), pairs, independent
        self.action = groups.gather(torch.from_numpy(pairs.action))
        self.wrong = groups.gather(torch.from_numpy(pairs.loss.astype(np.float32)))
        self.right = groups.gather(torch.from_numpy((pairs.count - pairs.loss).astype(np.float32)))
        self.offset = torch.full((actions,), RULED_OUT)
        self.offset[torch.from_numpy(np.unique(pairs.action))] = 0.0
        if independent:
            self._start_at(1.0 - float(pairs.loss.sum() / pairs.count.sum()))

    def _start_at(self, chance: float) -> None:
        """Let every network begin at one chance of all actions."""
        level = torch.logit(torch.tensor(chance), eps=LEAST_CHANCE)
        self.level = level.expand(len(self.offset))
        for member in self.members:
            with torch.no_grad():
                list(member.parameters())[-1].fill_(level)

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        action, right, wrong = self.action[groups], self.right[groups], self.wrong[groups]
        outputs = outputs + self.offset
        if self.independent:
            z = outputs.gather(1, action)
            value = right * logsigmoid(z) + wrong * logsigmoid(-z)
            return -value.sum() / (right + wrong).sum()
        log_p = log_softmax(outputs, dim=1).gather(1, action)
        found, refuted = right > 0, wrong > 0
        log_right = log_p.masked_fill(~found, 0.0).sum(dim=1)
        all_wrong = torch.logsumexp(log_p.masked_fill(~refuted, NO_CHANCE), dim=1)
        value = torch.where(found.any(dim=1), log_right, log_complement(all_wrong))
        return -value.mean()

    def chances(self, outputs: Tensor) -> Tensor:
        z = outputs + self.offset
        return torch.sigmoid(z) if self.independent else torch.softmax(z, dim=1)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        made = ChanceEnsemble(members, self.space, sharpness)
        made.independent.fill_(float(self.independent))
        made.offset.copy_(self.offset)
        return made

    def held_out_score(self) -> float:
        """The mean log loss of the rows, each by the member that has not seen its context."""
        return self.pairs.total_score(self.out_of_fold()) / float(self.pairs.count.sum())


class ContestedModel(LossEnsemble):
    """Both kinds of `ChoiceModel` side by side, where the rows cannot tell which is right.

    It acts as the one with the lower held-out log loss of the last epoch.
    """

    form = ChoiceForm()

    def __init__(
        self,
        x: Tensor,
        pairs: PairSums,
        actions: int,
        settings: LossModelSettings,
        generator: torch.Generator,
    ) -> None:
        first = ChoiceModel(x, pairs, actions, settings, generator)
        second = ChoiceModel(x, pairs, actions, settings, generator, first.fold, independent=True)
        self.rivals, self.winner = (first, second), first
        self.x, self.fold, self.settings, self.context = x, first.fold, settings, first.context

    @property
    def members(self) -> list[PolicyNetwork]:  # type: ignore[override]
        return self.winner.members

    def run_epoch(self) -> None:
        for rival in self.rivals:
            rival.run_epoch()
        self.winner = min(self.rivals, key=ChoiceModel.held_out_score)

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        return self.winner.batch_loss(k, groups, outputs)

    def chances(self, outputs: Tensor) -> Tensor:
        return self.winner.chances(outputs)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        """Of copies: the members that win may be others in the next epoch."""
        own = [copy.deepcopy(member) for member in members] if members is self.winner.members else members
        return self.winner.network(own, sharpness)

    def fill(self, network: EnsembleNetwork) -> None:
        sharpness = float(network.sharpness)
        network.load_state_dict(module_state(self.winner.network(self.winner.members, sharpness)).tensors)

    def state(self) -> State:
        state = State({}, {"winner": self.rivals.index(self.winner)})
        for number, rival in enumerate(self.rivals):
            state |= rival.state().under(f"rival-{number}")
        return state

    def restore(self, state: State) -> None:
        for number, rival in enumerate(self.rivals):
            rival.restore(state.below(f"rival-{number}"))
        self.winner = self.rivals[int(state.numbers["winner"])]


def choice_model(
    x: Tensor,
    pairs: PairSums,
    actions: int,
    settings: LossModelSettings,
    generator: torch.Generator,
    fold: Tensor | None = None,
) -> LossEnsemble:
    """The kind that the rows ask for, or both of them where the rows cannot tell."""
    kind = pairs.right_actions()
    if kind is RightActions.UNKNOWN:
        return ContestedModel(x, pairs, actions, settings, generator)
    return ChoiceModel(x, pairs, actions, settings, generator, fold, kind is RightActions.ANY)


def log_complement(log_p: Tensor) -> Tensor:
    """log(1 - p) from log p, for p no nearer to 1 than 1e-6."""
    return torch.log(-torch.expm1(log_p.clamp_max(-1e-6)))
