"""The free-form loss model: the additive one plus a network of context and action.

q(x, y) = additive(x, y) + T(x, y),  T(x, y) = v' relu(U x + W (2y - 1) + b) + c
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multilogger.components.learners.additive_model import AdditiveModel
from multilogger.components.learners.free_form_rows import FreeFormBatch, FreeFormRows
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.policies import Actions, Vector

BLOCK_ROWS = 8192


class CorrectionNetwork(nn.Module):
    """T(x, y), one hidden layer; contexts (n, d), actions (n, q) of 0 and 1: (n,)."""

    def __init__(self, features: int, labels: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.context = nn.Parameter(_uniform((features, hidden), features + labels, generator))
        self.action = nn.Parameter(_uniform((labels, hidden), features + labels, generator))
        self.bias = nn.Parameter(_uniform((hidden,), features + labels, generator))
        # Starts at T = 0, the additive model itself.
        self.out = nn.Parameter(torch.zeros(hidden))
        self.level = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        values: Tensor = torch.relu(self._before(x, y)) @ self.out + self.level
        return values

    def effects(self, x: Tensor, y: Tensor) -> Tensor:
        """T(x, y with y_l = 1) - T(x, y with y_l = 0) for every label: (n, q).

        Changing one label moves the hidden layer by one row of W, so all labels together cost little.
        """
        signs = 2.0 * y - 1.0
        rest = self._before(x, y).unsqueeze(1) - signs.unsqueeze(2) * self.action
        difference = torch.relu(rest + self.action) - torch.relu(rest - self.action)
        return difference @ self.out

    def _before(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ self.context + (2.0 * y - 1.0) @ self.action + self.bias


class FreeFormModel:
    """One correction T_k a fold, fitted to what the additive member of that fold leaves on the same contexts.

    So no part of fold k's model has seen a context of fold k.
    """

    def __init__(
        self, additive: AdditiveModel, rows: FreeFormRows, labels: int, settings: LearnerSettings
    ) -> None:
        self.additive, self.rows, self.settings = additive, rows, settings
        self.x, self.fold, generator = additive.x, additive.fold, additive.generator
        self.members = [
            CorrectionNetwork(self.x.shape[1], labels, settings.correction_hidden, generator)
            for _ in additive.members
        ]
        self.optimisers = [
            torch.optim.AdamW(member.parameters(), lr=settings.risk_rate, weight_decay=settings.weight_decay)
            for member in self.members
        ]

    def run_epoch(self) -> None:
        """Every correction once through the rows that it may see, weighted by their logger's precision."""
        tables = [self.additive.member(k) for k in range(len(self.members))]

        def additive(k: int, context: Tensor, action: Tensor) -> Tensor:
            return action.sum(dim=1) + ((1.0 - 2.0 * action) * tables[k][context]).sum(dim=1)

        for batch in self.rows.epoch(self.fold, len(self.members), additive, self._correction):
            if len(batch.context):
                self._descend(batch)

    def _descend(self, batch: FreeFormBatch) -> None:
        member, optimiser = self.members[batch.member], self.optimisers[batch.member]
        error = batch.residual - member(self.x[batch.context], batch.action)
        loss = (batch.weight * error.square()).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def _correction(self, k: int, context: Tensor, action: Tensor) -> Tensor:
        """T_k of rows, without gradient: (n,)."""
        with torch.no_grad():
            blocks = [
                self.members[k](self.x[context[rows]], action[rows])
                for rows in torch.split(torch.arange(len(context)), BLOCK_ROWS)
            ]
        return torch.cat(blocks)

    def corrections(self, context: NDArray[np.int64], action: Actions) -> Vector:
        """T of rows by the member that has not seen their context: (n,)."""
        values = np.empty(len(context))
        fold = self.fold[torch.from_numpy(context)].numpy()
        for k, member in enumerate(self.members):
            here = np.flatnonzero(fold == k)
            for start in range(0, len(here), BLOCK_ROWS):
                rows = here[start : start + BLOCK_ROWS]
                y = torch.from_numpy(action[rows].astype(np.float32))
                with torch.no_grad():
                    values[rows] = member(self.x[torch.from_numpy(context[rows])], y).numpy()
        return values

    def expected_corrections(self, draws: Sequence[Actions]) -> Vector:
        """E_{y ~ h} T(x, y) of every context from draws of actions (m, q) at all of them: (m,)."""
        everyone = np.arange(len(self.x), dtype=np.int64)
        return np.asarray(np.mean([self.corrections(everyone, y) for y in draws], axis=0), dtype=np.float64)

    def effects(self, context: Tensor, y: Tensor) -> Tensor:
        """What each label adds to T at actions y (g, q) of contexts (g,), out of fold: (g, q)."""
        effects = torch.empty_like(y)
        fold = self.fold[context]
        with torch.no_grad():
            for k, member in enumerate(self.members):
                here = fold == k
                effects[here] = member.effects(self.x[context[here]], y[here])
        return effects

    def state(self) -> State:
        state = State()
        for k, (member, optimiser) in enumerate(zip(self.members, self.optimisers, strict=True)):
            state |= module_state(member).under(f"correction-{k}")
            state |= optimiser_state(optimiser).under(f"optimiser-{k}")
        return state

    def restore(self, state: State) -> None:
        for k, (member, optimiser) in enumerate(zip(self.members, self.optimisers, strict=True)):
            member.load_state_dict(state.below(f"correction-{k}").tensors)
            restore_optimiser(optimiser, state.below(f"optimiser-{k}"))


def _uniform(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> Tensor:
    reach = 1.0 / math.sqrt(inputs)
    return (2.0 * torch.rand(shape, generator=generator) - 1.0) * reach
