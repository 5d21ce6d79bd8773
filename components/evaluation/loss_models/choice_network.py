"""The choice network in the loss model of one-of-K actions.

q(x, a) = (c + c_a) + (d + d_a) h(a|x) + (e + e_a) p_a(x)

is the ridge of `choice_ridge.py` with a term of the network's p_a, the chance that action a is right: the
network sees the features themselves, the ridge says how far to believe it, and lets the loss be of any height
and scale. E_{y ~ h} q(x, y) = sum_a h(a|x) q(x, a).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import log_softmax

from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.one_of import BLOCK_NUMBERS, log_probability, probabilities
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_models.action_lines import LineSums, line_losses, term_rows
from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows
from multilogger.components.evaluation.loss_models.pair_networks import Pair, PairNetworks, blind_to
from multilogger.components.evaluation.loss_models.row_sample import RowSample
from multilogger.components.learners.loss_models.choice import ChoiceModel, log_complement
from multilogger.components.learners.loss_models.pair_sums import PairSums
from multilogger.components.learners.loss_models.settings import LossModelSettings


class ChoicePairs(ChoiceModel):
    """Member i is fitted without the i-th of `pairs`; `settings.folds` is the number of pairs."""

    def __init__(
        self,
        x: Tensor,
        sums: PairSums,
        actions: int,
        settings: LossModelSettings,
        generator: torch.Generator,
        fold: Tensor,
        pairs: Sequence[Pair],
    ) -> None:
        super().__init__(x, sums, actions, settings, generator, fold)
        self.blind = pairs

    def seen_by(self, k: int) -> Tensor:
        return blind_to(self.fold[self.context], self.blind[k])

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        """-mean_i [ (1 - delta_i) log p_a + delta_i log(1 - p_a) ] over the rows of some groups.

        Choice: row by row, for losses of any kind, whatever a learner makes of a context's rows. What
        kind they are could only be told from the losses of all folds, which no fold may see.
        """
        log_p = log_softmax(outputs, dim=1).gather(1, self.action[groups])
        right, wrong = self.right[groups], self.wrong[groups]
        value = right * log_p + wrong * log_complement(log_p)
        return -value.sum() / (right + wrong).sum()


class ChoiceNetwork(PairNetworks[LossModelSettings]):
    """Choice networks, and a line per action."""

    # Fixed here: an estimate must not move when learning is tuned.
    settings = LossModelSettings(
        hidden=(128,),
        batch_norm=False,
        standardise=True,
        risk_rate=1e-3,
        weight_decay=0.1,
        input_dropout=0.2,
        context_batch=128,
        epochs=50,
        patience=50,
    )

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows; of the policy, its chance of the logged action alone."""
        h = np.exp(log_probability(rows.logits, rows.action))
        super().add(replace(rows, logits=h[:, None]))

    def predict(self, rows: ModelRows) -> ModelledLoss:
        p, h = self.chances(rows), probabilities(rows.logits)
        return line_losses(self._coefficients, self._shape.folds[rows.context], rows.action, h, [h, p])

    def _open(self, x: Tensor, sample: RowSample, fold: Tensor, settings: LossModelSettings) -> ChoicePairs:
        share = sample.delta / self._shape.max_loss
        sums = PairSums.of([(sample.context, sample.action, share)], self._shape.size)
        return ChoicePairs(x, sums, self._shape.size, settings, self._generator, fold, self._pairs)

    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> NDArray[np.float64]:
        """The lines of each fold, from rows of all the others: (folds, K, 3)."""
        fold, h = self._shape.folds[sample.kept][sample.context], sample.logits[:, 0]
        by_pair = [
            self._logged_chances(i, x, sample, np.isin(fold, pair)) for i, pair in enumerate(self._pairs)
        ]
        found = []
        for k in range(int(self._shape.folds.max()) + 1):
            p = np.zeros_like(h)
            for j in np.unique(fold[fold != k]):
                p[fold == j] = by_pair[self._pair_of(j, k)][fold == j]
            rows = fold != k
            u = term_rows([h[rows], p[rows]])
            sums = LineSums.of(u, sample.delta[rows], sample.action[rows], self._shape.size)
            found.append(sums.lines())
        return np.stack(found)

    def _logged_chances(self, member: int, x: Tensor, sample: RowSample, chosen: NDArray[np.bool_]) -> Vector:
        """p_a(x) of the logged actions of some rows by one network, 0 of the others: (n,)."""
        found = np.zeros(len(sample.action))
        size = max(1, BLOCK_NUMBERS // self._shape.size)
        rows = np.flatnonzero(chosen)
        for start in range(0, len(rows), size):
            here = rows[start : start + size]
            p = self._chances_of(member, x[sample.context[here]])
            found[here] = p[np.arange(len(here)), sample.action[here]]
        return found
