"""Direct learning (section 2.1.1) and the outer loop of Algorithm 1: minimise a mini-batch risk with Adam."""

from torch import Tensor

from multilogger.components.learners.training.batch_learner import BatchLearner
from multilogger.components.learners.training.objectives import minibatch_risk
from multilogger.components.learners.training.row_batches import RowBatch
from multilogger.components.learners.training.settings import RiskSettings


class DirectLearner(BatchLearner):
    """A network policy that descends R_mini."""

    settings: RiskSettings

    def batch_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> Tensor:
        return minibatch_risk(
            self.log_target(rows),
            rows.log_denominator,
            rows.delta - shift,
            shares,
            self.settings.weights,
            self.settings.clip,
        )
