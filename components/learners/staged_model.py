"""The loss model of doubly robust learning as it is fitted: additive first, then its free-form correction."""

import dataclasses

import torch
from torch import Tensor

from multilogger.components.learners.additive_model import AdditiveModel
from multilogger.components.learners.additive_rows import AdditiveRows
from multilogger.components.learners.folded_model import FoldedModel
from multilogger.components.learners.free_form_model import FreeFormModel
from multilogger.components.learners.free_form_rows import FreeFormRows
from multilogger.components.learners.settings import LearnerSettings, Regression
from multilogger.components.learners.state import State


class StagedModel:
    """`model_epochs` epochs of the additive model, and as many of the correction where there is to be one."""

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        free_rows: FreeFormRows,
        labels: int,
        settings: LearnerSettings,
        generator: torch.Generator,
    ) -> None:
        of_model = dataclasses.replace(settings, epochs=settings.model_epochs)
        self.additive = AdditiveModel(x, rows, labels, of_model, generator)
        self.free = (
            FreeFormModel(self.additive, free_rows, labels, of_model)
            if settings.regression is Regression.FREE
            else None
        )

    @property
    def epochs(self) -> int:
        """Of both stages."""
        return self.additive.settings.epochs * (1 if self.free is None else 2)

    def run_epoch(self) -> None:
        """The next one; the additive model counts its own."""
        if self.free is None or self.additive.epoch < self.additive.settings.epochs:
            self.additive.run_epoch()
        else:
            self.free.run_epoch()

    def folded(self, seed: int) -> FoldedModel:
        """The model as it stands; the seed is that of the draws which a correction is averaged over."""
        return FoldedModel(self.additive.out_of_fold(), self.free, seed)

    def state(self) -> State:
        state = self.additive.state().under("additive")
        return state if self.free is None else state | self.free.state().under("free")

    def restore(self, state: State) -> None:
        self.additive.restore(state.below("additive"))
        if self.free is not None:
            self.free.restore(state.below("free"))
