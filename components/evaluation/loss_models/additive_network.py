"""The additive-loss network in the loss model of label vectors.

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l + e_l s_l + f_l y_l s_l ],  s_l = 2 p_l(x) - 1,

is the ridge of `label_ridge.py` with terms of the additive network p beside those of the policy: the network
sees the features themselves, the ridge says how far to believe it, and lets the loss be of any height and
scale. It adds up over labels, so E_{y ~ h} q(x, y) is q at y = h's marginals.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import marginals
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows
from multilogger.components.evaluation.loss_models.label_ridge import label_terms, ridge_coefficients
from multilogger.components.evaluation.loss_models.pair_networks import Pair, PairNetworks, blind_to
from multilogger.components.evaluation.loss_models.row_sample import RowSample
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import AdditiveRows, GroupedRows
from multilogger.components.learners.loss_models.settings import AdditiveSettings


class AdditivePairs(AdditiveModel):
    """Member i is fitted without the i-th of `pairs`, and learns the loggers' noise from its own rows.

    `fold` (m,) is that of each context; `settings.folds` is the number of pairs.
    """

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        labels: int,
        settings: AdditiveSettings,
        generator: torch.Generator,
        fold: Tensor,
        pairs: Sequence[Pair],
    ) -> None:
        super().__init__(x, rows, labels, settings, generator, fold)
        self.pairs = pairs
        self._noises = [self.noise for _ in pairs]

    def seen_by(self, k: int) -> Tensor:
        return blind_to(self.fold[self.context], self.pairs[k])

    def noise_for(self, k: int) -> Tensor:
        return self._noises[k]

    def estimate_noise(self) -> None:
        self._noises = [self.excess_noise(self.member(k), self.seen_by(k)) for k in range(len(self.members))]


class AdditiveNetwork(PairNetworks[AdditiveSettings]):
    """Additive networks, and a ridge of the terms of labels."""

    # Fixed here: an estimate must not move when learning is tuned.
    settings = AdditiveSettings(
        hidden=(128,),
        batch_norm=False,
        standardise=True,
        risk_rate=1e-3,
        weight_decay=0.1,
        input_dropout=0.2,
        context_batch=128,
        working_noise=0.02,
        epochs=50,
        patience=50,
    )

    def predict(self, rows: ModelRows) -> ModelledLoss:
        p, h = self.chances(rows), marginals(rows.logits)
        own = self._coefficients[self._shape.folds[rows.context]]
        return ModelledLoss(
            q_logged=np.einsum("ij,ij->i", own, joint_terms(h, p, rows.action.astype(np.float64))),
            q_target=np.einsum("ij,ij->i", own, joint_terms(h, p, h)),
        )

    def _open(self, x: Tensor, sample: RowSample, fold: Tensor, settings: AdditiveSettings) -> AdditivePairs:
        labels = self._shape.size
        scaled = replace(sample, delta=sample.delta * labels / self._shape.max_loss)
        return AdditivePairs(x, GroupedRows(scaled), labels, settings, self._generator, fold, self._pairs)

    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> Matrix:
        """The coefficients of each fold, from rows of all the others: (folds, 5q + 1)."""
        tables = [self._chances_of(i, x) for i in range(len(self._pairs))]
        fold = self._shape.folds[sample.kept][sample.context]
        h, y = marginals(sample.logits), sample.action.astype(np.float64)
        found = []
        for k in range(int(self._shape.folds.max()) + 1):
            p = np.empty_like(h)
            for j in np.unique(fold[fold != k]):
                rows = fold == j
                p[rows] = tables[self._pair_of(j, k)][sample.context[rows]]
            rows = fold != k
            terms = joint_terms(h[rows], p[rows], y[rows])
            found.append(ridge_coefficients(terms.T @ terms, terms.T @ sample.delta[rows]))
        return np.stack(found)


def joint_terms(h: Matrix, p: Matrix, y: Matrix) -> Matrix:
    """The terms of the policy's marginals h and of the network's p at y, all (n, q): (n, 5q + 1)."""
    s = 2.0 * p - 1.0
    return np.hstack([label_terms(h, y), s, y * s])
