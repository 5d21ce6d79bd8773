"""The additive loss model with a member for each pair of folds, fitted without either of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from multilogger.components.learners.additive_model import AdditiveModel
from multilogger.components.learners.additive_rows import AdditiveRows
from multilogger.components.learners.settings import LearnerSettings

Pair = tuple[int, int]


class PairModel(AdditiveModel):
    """Member i is fitted without the i-th of `pairs`, and learns the loggers' noise from its own rows.

    `fold` (m,) is that of each context; `settings.folds` is the number of pairs.
    """

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        labels: int,
        settings: LearnerSettings,
        generator: torch.Generator,
        fold: Tensor,
        pairs: Sequence[Pair],
    ) -> None:
        super().__init__(x, rows, labels, settings, generator, fold)
        self.pairs = pairs
        self._noises = [self.noise for _ in pairs]

    def seen_by(self, k: int) -> Tensor:
        fold = self.fold[self.rows.context]
        return (fold != self.pairs[k][0]) & (fold != self.pairs[k][1])

    def noise_for(self, k: int) -> Tensor:
        return self._noises[k]

    def estimate_noise(self) -> None:
        self._noises = [self.excess_noise(self.member(k), self.seen_by(k)) for k in range(len(self.members))]
