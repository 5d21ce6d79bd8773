"""The additive loss model: a loss that adds up over labels, fitted to bandit rows without any label.

q(x, y) = sum_l [ p_l(x) + y_l (1 - 2 p_l(x)) ] = |y| + z'p(x),  z_l = 1 - 2 y_l,

with p_l(x) the chance that label l is right. Not in the paper.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from multilogger.components.actions.labels import Actions, Matrix, Vector, expected_label_sum
from multilogger.components.learners.additive.method import AdditiveSettings
from multilogger.components.learners.additive.rows import AdditiveRows
from multilogger.components.learners.training.state import (
    State,
    module_state,
    optimiser_state,
    restore_optimiser,
)
from multilogger.components.policies.networks import PolicyNetwork

BLOCK_CONTEXTS = 4096


def additive_loss(p: Matrix, y: Actions) -> Vector:
    """q(x, y) of each row, from p (n, q) and actions (n, q): (n,)."""
    return np.asarray(np.where(y == 1, 1.0 - p, p).sum(axis=1), dtype=np.float64)


def right_chances(outputs: Tensor) -> Tensor:
    """p(x) from the outputs (n, q) of a model's network, of whatever kind the policies are."""
    return torch.sigmoid(outputs)


def expected_additive_loss(p: Matrix, logits: Matrix) -> Vector:
    """E_{y ~ h} q(x, y) in closed form, h given by its logits (n, q): (n,)."""
    return expected_label_sum(logits, p, 1.0 - 2.0 * p)


class AdditiveModel:
    """Networks p_1(x)..p_K(x), each fitted on all contexts but those of its fold, by weighted least squares.

    Least squares with any fixed weights finds the right p where the loss is additive; the weights only say
    how fast. These are the best ones for labels that are independent given x: r' Sigma^-1 r, with Sigma held
    fixed in each step. A logger whose rows scatter more than Sigma explains gets that excess as `noise` on
    its rows, re-estimated after each epoch, so that its rows count for less. `fold` (m,) is drawn unless it
    is given.
    """

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        labels: int,
        settings: AdditiveSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
    ) -> None:
        self.x, self.rows, self.settings, self.generator = x, rows, settings, generator
        self.fold = context_folds(len(x), settings.folds, generator) if fold is None else fold
        self.members = [
            PolicyNetwork(x.shape[1], labels, settings.policy_size, generator) for _ in range(settings.folds)
        ]
        self.optimisers = [
            torch.optim.AdamW(member.parameters(), lr=settings.risk_rate, weight_decay=settings.weight_decay)
            for member in self.members
        ]
        self.noise = torch.full((rows.loggers,), settings.working_noise)
        self.epoch = 0

    def run_epoch(self) -> None:
        """Every member once through the contexts that it may see; then the noise of each logger anew."""
        rate = self.settings.risk_rate * _decay(self.epoch, self.settings.epochs)
        for k, optimiser in enumerate(self.optimisers):
            optimiser.param_groups[0]["lr"] = rate
            seen = torch.flatten(torch.nonzero(self.seen_by(k)))
            order = seen[torch.randperm(len(seen), generator=self.generator)]
            for groups in torch.split(order, self.settings.context_batch):
                if len(groups) > self.settings.batch_norm:  # no statistics of a single context
                    self._descend(k, groups)
        self.epoch += 1
        self.estimate_noise()

    def seen_by(self, k: int) -> Tensor:
        """Which groups of rows member k is fitted to: (g,)."""
        return self.fold[self.rows.context] != k

    def noise_for(self, k: int) -> Tensor:
        """The noise of each logger that member k takes its rows to have: (J,)."""
        return self.noise

    def estimate_noise(self) -> None:
        """The noise of each logger, from rows of contexts that a member has not seen."""
        p = torch.from_numpy(self.out_of_fold().astype(np.float32))
        self.noise = self.excess_noise(p)

    def _descend(self, k: int, groups: Tensor) -> None:
        member, optimiser = self.members[k], self.optimisers[k]
        member.train()
        p = right_chances(member(self._thinned(self.x.index_select(0, self.rows.context[groups]))))
        loss = self.rows.loss(groups, p, self.noise_for(k))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def _thinned(self, x: Tensor) -> Tensor:
        """Contexts with some of their inputs left out at random, and the others scaled up for them."""
        share = self.settings.input_dropout
        if share == 0:
            return x
        kept = torch.rand(x.shape, generator=self.generator) >= share
        return x * kept / (1.0 - share)

    def excess_noise(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        """What residuals of p (m, q) scatter beyond sum_l p_l (1 - p_l), a logger: (J,), floored.

        `among` (g,) marks the groups of rows that are looked at; a logger without any has the floor.
        """
        return self.rows.excess(p, among).nan_to_num(0.0).clamp_min(self.settings.working_noise)

    def out_of_fold(self) -> Matrix:
        """p(x) of every context by the member that has not seen it: (m, q)."""
        return blind_probabilities(self.members, self.x, self.fold)

    def member(self, k: int) -> Tensor:
        """p_k(x) of every context, seen or not: (m, q)."""
        return probabilities(self.members[k], self.x)

    def state(self) -> State:
        state = State({"noise": self.noise.clone()}, {"epoch": self.epoch})
        for k, (member, optimiser) in enumerate(zip(self.members, self.optimisers, strict=True)):
            state |= module_state(member).under(f"member-{k}")
            state |= optimiser_state(optimiser).under(f"optimiser-{k}")
        return state

    def restore(self, state: State) -> None:
        self.noise, self.epoch = state.tensors["noise"], int(state.numbers["epoch"])
        for k, (member, optimiser) in enumerate(zip(self.members, self.optimisers, strict=True)):
            member.load_state_dict(state.below(f"member-{k}").tensors)
            restore_optimiser(optimiser, state.below(f"optimiser-{k}"))


def context_folds(contexts: int, folds: int, generator: torch.Generator) -> Tensor:
    """The fold of every context, in shares as equal as can be: (m,)."""
    fold = torch.empty(contexts, dtype=torch.int64)
    fold[torch.randperm(contexts, generator=generator)] = torch.arange(contexts) % folds
    return fold


def blind_probabilities(members: Sequence[PolicyNetwork], x: Tensor, fold: Tensor) -> Matrix:
    """p_k(x) of every context by the member k of its fold, which has not seen it: (m, q)."""
    tables = [probabilities(member, x[fold == k]) for k, member in enumerate(members)]
    joined = torch.empty(len(x), tables[0].shape[1])
    for k, table in enumerate(tables):
        joined[fold == k] = table
    return joined.double().numpy()


def probabilities(member: nn.Module, x: Tensor) -> Tensor:
    """p(x) of contexts (n, d) by one network: (n, q)."""
    member.eval()
    with torch.no_grad():
        return torch.cat([right_chances(member(block)) for block in torch.split(x, BLOCK_CONTEXTS)])


def _decay(epoch: int, epochs: int) -> float:
    """A half cosine from 1 to 0 over the run."""
    return 0.5 * (1.0 + math.cos(math.pi * min(epoch / epochs, 1.0)))
