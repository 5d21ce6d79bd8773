"""Several loss models that differ in where they begin, and the blend of them that held-out rows ask for."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.learners.loss_models.choice import ChoiceModel
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.settings import Race
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.policies.blends import BlendNetwork
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork

STEPS = 20  # of the search for weights, which are so many parts of a whole

Score = Callable[[Matrix], float]


class StartRecord(NamedTuple):
    """A candidate: how it began, its least held-out score and the epoch of it, its weight in the blend."""

    start: str
    score: float
    epoch: int
    weight: float


class BlendedModel(LossEnsemble):
    """Candidates with the same folds, each at its own best epoch, as one ensemble of blends.

    An epoch is one of every candidate that still gains; in a race the best go on alone after some epochs.
    Until the last one the best candidate alone counts; then, with `mixes`, weights are chosen by the score of
    the blend's p (m, size) out of fold. Those that were left behind are in it as they were at their best.
    """

    def __init__(
        self,
        candidates: Sequence[LossEnsemble],
        names: Sequence[str],
        score: Score,
        mixes: bool,
        race: Race | None = None,
    ) -> None:
        first, self.names = candidates[0], names
        self.form, self.x, self.fold = first.form, first.x, first.fold
        self.context, self.settings, self.generator = first.context, first.settings, first.generator
        self.candidates, self.score, self.mixes = candidates, score, mixes
        epochs = self.settings.epochs
        self.race = race or Race(epochs, epochs, len(candidates))
        self.scores = [math.inf] * len(candidates)
        self.best_epochs = [0] * len(candidates)
        self.members: list[PolicyNetwork] = [
            self._blend([copy.deepcopy(one.members[k]) for one in candidates])
            for k in range(self.settings.folds)
        ]
        self.epoch = 0

    def _blend(self, parts: Sequence[PolicyNetwork]) -> BlendNetwork:
        first = self.candidates[0]
        blend = BlendNetwork(parts, first.outputs)
        if isinstance(first, ChoiceModel):
            blend.one.fill_(float(not first.independent))
            blend.offset.copy_(first.offset)
        return blend

    def starts(self) -> tuple[StartRecord, ...]:
        """What was found of every candidate, and its weight in the blend as it is now."""
        weights = self.blends[0].weights.tolist()
        return tuple(map(StartRecord, self.names, self.scores, self.best_epochs, weights))

    @property
    def blends(self) -> list[BlendNetwork]:
        return [member for member in self.members if isinstance(member, BlendNetwork)]

    def gains(self, number: int) -> bool:
        """Whether a candidate is not yet through, still gets better, and was not left behind.

        Scores of those that are left behind stay as they are, so that they need not be remembered.
        """
        stale = self.epoch - self.best_epochs[number] >= self.settings.patience
        ahead = number in np.argsort(self.scores, kind="stable")[: self.race.kept]
        return self.epoch < self.settings.epochs and not stale and (ahead or self.epoch < self.race.first)

    @property
    def finished(self) -> bool:
        return not any(self.gains(number) for number in range(len(self.candidates)))

    def run_epoch(self) -> None:
        if self.finished:
            return
        going = [number for number in range(len(self.candidates)) if self.gains(number)]
        self.epoch += 1
        for number in going:
            candidate = self.candidates[number]
            candidate.run_epoch()
            score = self.score(candidate.out_of_fold())
            if score < self.scores[number]:
                self.scores[number], self.best_epochs[number] = score, self.epoch
                for blend, member in zip(self.blends, candidate.members, strict=True):
                    blend.parts[number].load_state_dict(member.state_dict())
        self._weigh()

    def _weigh(self) -> None:
        """Take the best candidate, or after the last epoch the best blend."""
        weights = np.eye(len(self.candidates))[int(np.argmin(self.scores))]
        if self.mixes and self.finished and len(self.candidates) > 1:
            tables = [self.part_chances(number) for number in range(len(self.candidates))]
            weights = blend_weights(tables, self.score)
        for blend in self.blends:
            blend.weights.copy_(torch.from_numpy(weights))

    def part_chances(self, number: int) -> Matrix:
        """p(x) of every context by a candidate at its best epoch, out of fold: (m, size)."""
        candidate = self.candidates[number]
        found = torch.empty(len(self.x), candidate.outputs)
        for k, blend in enumerate(self.blends):
            own = self.fold == k
            found[own] = candidate.member_chances(blend.parts[number], self.x[own])
        return found.double().numpy()

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        return self.candidates[0].batch_loss(k, groups, outputs)

    def chances(self, outputs: Tensor) -> Tensor:
        return self.candidates[0].chances(outputs)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        return self.candidates[0].network(members, sharpness)

    def state(self) -> State:
        numbers: dict[str, float] = {"epoch": self.epoch}
        state = State({}, numbers)
        for number, candidate in enumerate(self.candidates):
            numbers |= {f"score-{number}": self.scores[number], f"best-{number}": self.best_epochs[number]}
            state |= candidate.state().under(f"candidate-{number}")
        for k, member in enumerate(self.members):
            state |= module_state(member).under(f"blend-{k}")
        return state | State({}, numbers)

    def restore(self, state: State) -> None:
        self.epoch = int(state.numbers["epoch"])
        for number, candidate in enumerate(self.candidates):
            self.scores[number] = state.numbers[f"score-{number}"]
            self.best_epochs[number] = int(state.numbers[f"best-{number}"])
            candidate.restore(state.below(f"candidate-{number}"))
        for k, member in enumerate(self.members):
            member.load_state_dict(state.below(f"blend-{k}").tensors)


def blend_weights(tables: Sequence[Matrix], score: Score) -> Matrix:
    """Weights (c,) of tables p (m, size), summing to 1, whose blend has a low score.

    Greedy (Caruana et al., ICML 2004): from the best table on, the one that helps most is added again and
    again, and the best of all these means is taken. So a weight is a whole number of parts, few of them
    overfit, and any score will do.
    """
    counts = np.zeros(len(tables))
    total, found = np.zeros_like(tables[0]), (math.inf, counts)
    for step in range(1, STEPS + 1):
        tried = [score((total + table) / step) for table in tables]
        chosen = int(np.argmin(tried))
        counts = counts + np.eye(len(tables))[chosen]
        total = total + tables[chosen]
        if tried[chosen] < found[0]:
            found = tried[chosen], counts / step
    return found[1]
