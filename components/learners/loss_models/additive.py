"""The additive loss model: a loss that adds up over labels, fitted to bandit rows without any label.

q(x, y) = sum_l [ p_l(x) + y_l (1 - 2 p_l(x)) ] = |y| + z'p(x),  z_l = 1 - 2 y_l,

with p_l(x) the chance that label l is right. Not in the paper.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.learners.loss_models.additive_rows import AdditiveRows, LoggerProducts
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.form import AdditiveForm
from multilogger.components.learners.loss_models.settings import AdditiveSettings, Start
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
        if settings.start is not Start.SCRATCH:
            self.level = torch.logit(base_rates(rows.sums())).float()

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


LEAST_RATE = 0.01  # of a label, where a model of rates alone begins
PRIOR_ROWS = 1.0  # that speak for the same rate of all labels
ROUNDS = 10


def base_rates(sums: LoggerProducts) -> Tensor:
    """The p (q,) that fits all rows best, whatever their context; rows weigh by how little they scatter."""
    labels = sums.moments.shape[1]
    spread = torch.ones_like(sums.squares)
    rates = torch.full((labels,), 0.5, dtype=torch.float64)
    for _ in range(ROUNDS):
        gram = torch.einsum("j,jkl->kl", 1.0 / spread, sums.products)
        moment = torch.einsum("j,jk->k", 1.0 / spread, sums.moments)
        common = (moment.sum() / gram.sum().clamp_min(PRIOR_ROWS)).clamp(0.0, 1.0)
        system = gram + PRIOR_ROWS * torch.eye(labels, dtype=torch.float64)
        rates = torch.linalg.solve(system, moment + PRIOR_ROWS * common).clamp(LEAST_RATE, 1.0 - LEAST_RATE)
        residuals = sums.squares - 2.0 * sums.moments @ rates
        residuals += torch.einsum("k,jkl,l->j", rates, sums.products, rates)
        spread = residuals / sums.counts.clamp_min(1.0) + LEAST_RATE
    return rates
