"""Networks fitted to the true labels themselves, which no log has: the limit of what a log can teach."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.figures import LossFigures, ModelFigures
from multilogger.components.learners.loss_models.form import AdditiveForm
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.learners.training.record import Risk
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork


class LabelsModel(LossEnsemble):
    """Members fitted by the likelihood of the true labels (m, q)."""

    form = AdditiveForm()

    def __init__(
        self,
        x: Tensor,
        truth: Actions,
        labels: int,
        settings: LossModelSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
    ) -> None:
        super().__init__(x, torch.arange(len(x)), labels, settings, generator, fold)
        self.truth = torch.from_numpy(truth.astype(np.float32))
        rates = (self.truth.sum(dim=0) + 1.0) / (len(x) + 2.0)
        self.level = torch.logit(rates)

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        loss = binary_cross_entropy_with_logits(outputs, self.truth[groups], reduction="none")
        return loss.sum(dim=1).mean()

    def chances(self, outputs: Tensor) -> Tensor:
        return torch.sigmoid(outputs)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        return EnsembleNetwork(members, TorchLabels(), sharpness)


class TruthFigures:
    """The figures of a log, but for the score: sum_l (p_l - t_l)^2, the mean over contexts."""

    def __init__(self, figures: LossFigures, truth: Actions) -> None:
        self.figures, self.truth = figures, truth.astype(np.float64)

    def score(self, p: Matrix) -> float:
        return float(np.square(p - self.truth).sum(axis=1).mean())

    def model(self, p: Matrix, logits: Matrix, clip: float) -> ModelFigures:
        return self.figures.model(p, logits, clip)._replace(score=self.score(p))

    def risks(self, policies: Sequence[Matrix]) -> list[Risk]:
        return self.figures.risks(policies)
