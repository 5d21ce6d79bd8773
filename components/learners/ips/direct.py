"""Direct learning (section 2.1.1) and the outer loop of Algorithm 1: minimise a mini-batch risk with Adam."""

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.torch_labels import log_probability
from multilogger.components.learners.reg.constraint import Constraint
from multilogger.components.learners.reg.draws import open_draws
from multilogger.components.learners.reg.method import ConstraintSettings, WeightedRegSettings
from multilogger.components.learners.training.network_learner import RiskLearner
from multilogger.components.learners.training.objectives import Objective, minibatch_risk
from multilogger.components.learners.training.open_measure import open_measure
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.row_batches import RowBatch, open_rows
from multilogger.components.learners.training.rules import rules_of
from multilogger.components.learners.training.settings import RiskSettings
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog


class DirectLearner(RiskLearner):
    """A network policy that descends R_mini, and after each step the constraint if there is one.

    With a log on disk an epoch reads it twice: once for its mini-batches, once for everything that is
    measured of the policy, lambda* of the next epoch included.
    """

    def __init__(
        self,
        log: LearnerLog,
        objective: Objective,
        settings: RiskSettings,
        seed: int,
        constraint: ConstraintSettings | None = None,
    ) -> None:
        rules = rules_of(settings)
        if constraint is not None:
            floor = constraint.constraint_floor if isinstance(constraint, WeightedRegSettings) else 0.0
            rules = rules_of(settings, constraint.kappa, floor)
        super().__init__(log, open_measure(log, objective, rules), settings, seed, fused=True)
        self.objective, self.rows = objective, open_rows(log, objective, settings, seed, self.generator)
        self.constraint = (
            Constraint(
                self.network,
                self.x,
                open_draws(log, self.rows),
                log,
                self.measure,
                constraint,
                settings.batch_size,
                seed,
            )
            if constraint is not None
            else None
        )

    def run_epoch(self) -> None:
        """Algorithm 1, steps 2 to 5, `passes_per_epoch` times through the log."""
        if self.clones():
            return
        shift = self.update_shares()
        shares = torch.from_numpy(self.shares.astype(np.float32))
        if self.constraint is not None:
            self.constraint.start_epoch(self.shares)
        for _ in range(self.settings.passes_per_epoch):
            for rows in self.rows.epoch():
                self.descend_risk(rows, shares, shift)
                if self.constraint is not None:
                    self.constraint.enforce()

    def descend_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> None:
        """Algorithm 1, steps 3 and 4."""
        self.network.train()
        log_target = log_probability(self.network(self.x.index_select(0, rows.context)), rows.action)
        risk = minibatch_risk(
            log_target.view(rows.delta.shape),
            rows.log_denominator,
            rows.delta - shift,
            shares,
            self.settings.weights,
            self.settings.clip,
        )
        self.optimiser.zero_grad()
        risk.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def record(self, epoch: int) -> EpochRecord:
        if self.constraint is None:
            return self.measure.record(epoch, self.look(), self.shares)
        known, pulled = self.constraint.variational(), self.constraint.pulled()
        return self.measure.record(epoch, self.look(), self.shares, known, pulled=pulled)

    def state(self) -> State:
        """Everything that the next epoch depends on."""
        state = self.network_state() | self.rows.state().under("rows")
        if self.constraint is not None:
            state |= self.constraint.state().under("constraint")
        return state

    def restore(self, state: State) -> None:
        self.forget()
        self.restore_network(state)
        self.rows.restore(state.below("rows"))
        if self.constraint is not None:
            self.constraint.restore(state.below("constraint"))
