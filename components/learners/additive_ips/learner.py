"""Descend a risk whose weights add up over labels.

With the weights W of `estimators/additive_weights.py` the risk is linear in the policy's marginals, and

d/dh_l(x) E[delta W] = E[(delta - c_j) (y_l - p_jl) / v_l],  v_l = p_jl (1 - p_jl),

or for balanced weights v_l = sum_j s_j p_jl (1 - p_jl), whatever their bases are. c_j is the mean loss of
logger j: y_l - p_jl has mean 0, so it takes nothing but variance away. Choice: v_l is at least
`least_variance`; a label that a logger hardly varies then moves the policy less than it should, where it
would move it by a lot at random.
"""

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.additive_weights import (
    AdditiveWeights,
    balanced_additive_weights,
    label_variances,
    own_additive_weights,
    support_shares,
)
from multilogger.components.learners.additive_ips.method import AdditiveIpsSettings, Family
from multilogger.components.learners.reg.divergence_estimator import check_loggers_known
from multilogger.components.learners.training.batch_learner import BatchLearner, mean_of
from multilogger.components.learners.training.objectives import NAIVE
from multilogger.components.learners.training.record import EpochRecord, OwnRisks, Risk
from multilogger.components.learners.training.row_batches import RowBatch
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.lots import Lot


class AdditiveIpsLearner(BatchLearner):
    """A network policy; epochs are judged by the balanced additive estimate on validation rows."""

    settings: AdditiveIpsSettings

    def __init__(self, log: LearnerLog, settings: AdditiveIpsSettings, seed: int) -> None:
        check_loggers_known(log.logger_logits, "additive-ips")
        super().__init__(log, NAIVE, settings, seed)
        self.log = log
        tables, shares = np.stack(log.logger_logits), self.measure.counts / self.measure.counts.sum()
        variance = label_variances(tables)
        if settings.family is Family.BALANCED:
            variance = np.broadcast_to(np.tensordot(shares, variance, 1), tables.shape)
        variance = np.maximum(variance, settings.least_variance)
        p = self.log.space.probabilities(tables)
        self.p, self.inverse = (torch.from_numpy(np.float32(part)) for part in (p, 1.0 / variance))
        self.mean_loss = torch.tensor(self.measure.mean_losses(), dtype=torch.float32)[:, None]

    def update_shares(self) -> float:
        """n_j lambda_j by support, where loggers are weighed."""
        shift = super().update_shares()
        if self.settings.family is Family.WEIGHTED:
            self.shares = support_shares(
                self._weights(self.logits(), self.measure.counts), self.measure.counts
            )
        return shift

    def batch_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> Tensor:
        marginals = self.space.probabilities(self.logits_of(rows))
        at = rows.logger, rows.context
        slopes = (rows.action - self.p[at]) * self.inverse[at]
        pulled = (marginals * slopes).sum(dim=1).view(rows.delta.shape)
        return shares @ ((rows.delta - self.mean_loss) * pulled).mean(dim=1)

    def record(self, epoch: int) -> EpochRecord:
        """With the additive estimates of both sides."""
        logits, counts = self.snapshot().logits, self.measure.counts
        train = self._risk(self._weights(logits, counts), False, self.shares / counts * counts.sum())
        own = balanced_additive_weights(logits, self.log.logger_logits, _counts(self.log, validation=True))
        validation = self._risk(own, True, np.ones(len(counts)))
        risks = OwnRisks(train.value, validation)
        return self.measure.record(epoch, self.snapshot(), self.shares, own=risks)

    def _weights(self, logits: Matrix, counts: Vector) -> AdditiveWeights:
        if self.settings.family is Family.BALANCED:
            return balanced_additive_weights(logits, self.log.logger_logits, counts)
        return own_additive_weights(logits, self.log.logger_logits)

    def _risk(self, weights: AdditiveWeights, validation: bool, scale: Vector) -> Risk:
        """The mean of scale_j W (delta - c) + c, c the mean loss: weights have the mean 1."""
        centre = float(np.mean(self.measure.mean_losses()))

        def values(rows: Lot) -> Vector:
            w = weights.of(rows.context, rows.logger, rows.action)
            return np.asarray(scale[rows.logger] * w * (rows.delta - centre) + centre)

        return mean_of(self.log, validation, values)


def _counts(log: LearnerLog, validation: bool) -> Vector:
    side = log.side(validation) if isinstance(log, StreamedLog) else log.part(validation)
    return side.counts
