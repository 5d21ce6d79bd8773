"""The additive loss model: a loss that adds up over labels, fitted to bandit rows without any label.

q(x, y) = sum_l [ p_l(x) + y_l (1 - 2 p_l(x)) ] = |y| + z'p(x),  z_l = 1 - 2 y_l,

with p_l(x) the chance that label l is right. Not in the paper.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.learners.loss_models.additive_rows import AdditiveRows
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.form import AdditiveForm
from multilogger.components.learners.loss_models.settings import AdditiveSettings
from multilogger.components.learners.training.state import State
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork


class AdditiveModel(LossEnsemble):
    """Members fitted by weighted least squares.

    Least squares with any fixed weights finds the right p where the loss is additive; the weights only say
    how fast. These are the best ones for labels that are independent given x: r' Sigma^-1 r, with Sigma held
    fixed in each step. A logger whose rows scatter more than Sigma explains gets that excess as `noise` on
    its rows, re-estimated after each epoch, so that its rows count for less.
    """

    form = AdditiveForm()
    settings: AdditiveSettings

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        labels: int,
        settings: AdditiveSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
    ) -> None:
        super().__init__(x, rows.context, labels, settings, generator, fold)
        self.rows = rows
        self.noise = torch.full((rows.loggers,), settings.working_noise)

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        return self.rows.loss(groups, self.chances(outputs), self.noise_for(k))

    def chances(self, outputs: Tensor) -> Tensor:
        return torch.sigmoid(outputs)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        return EnsembleNetwork(members, TorchLabels(), sharpness)

    def noise_for(self, k: int) -> Tensor:
        """The noise of each logger that member k takes its rows to have: (J,)."""
        return self.noise

    def after_epoch(self) -> None:
        self.estimate_noise()

    def estimate_noise(self) -> None:
        """The noise of each logger, from rows of contexts that a member has not seen."""
        p = torch.from_numpy(self.out_of_fold().astype(np.float32))
        self.noise = self.excess_noise(p)

    def excess_noise(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        """What residuals of p (m, q) scatter beyond sum_l p_l (1 - p_l), a logger: (J,), floored.

        `among` (g,) marks the groups of rows that are looked at; a logger without any has the floor.
        """
        return self.rows.excess(p, among).nan_to_num(0.0).clamp_min(self.settings.working_noise)

    def state(self) -> State:
        return State({"noise": self.noise.clone()}) | super().state()

    def restore(self, state: State) -> None:
        self.noise = state.tensors["noise"]
        super().restore(state)
