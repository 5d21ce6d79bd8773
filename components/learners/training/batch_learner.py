"""A network policy that descends a risk in mini-batches of rows: the outer loop of Algorithm 1."""

import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.learners.training.network_learner import RiskLearner, open_measure
from multilogger.components.learners.training.objectives import Objective, Rules, rules_of
from multilogger.components.learners.training.record import EpochRecord, Risk
from multilogger.components.learners.training.row_batches import RowBatch, open_rows
from multilogger.components.learners.training.settings import DescentSettings
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.lots import Lot, lots


class BatchLearner(RiskLearner):
    """A network policy that descends what `batch_risk` says of a mini-batch.

    With a log on disk an epoch reads it twice: once for its mini-batches, once for everything that is
    measured of the policy, lambda* of the next epoch included. `rules` are those of the settings, unless a
    constraint adds to them.
    """

    def __init__(
        self,
        log: LearnerLog,
        objective: Objective,
        settings: DescentSettings,
        seed: int,
        rules: Rules | None = None,
    ) -> None:
        measure = open_measure(log, objective, rules or rules_of(settings))
        super().__init__(log, measure, settings, seed)
        self.objective, self.rows = objective, open_rows(log, objective, settings, seed, self.generator)

    def run_epoch(self) -> None:
        """Algorithm 1, steps 2 to 5, `passes_per_epoch` times through the log."""
        if self.made_warm_start():
            return
        shift = self.update_shares()
        shares = torch.from_numpy(self.shares.astype(np.float32))
        self.start_epoch()
        self.network.train()
        for _ in range(self.settings.passes_per_epoch):
            for rows in self.rows.epoch():
                self.optimiser.descend(self.batch_risk(rows, shares, shift))
                self.after_step()

    def start_epoch(self) -> None:
        """What a constraint does at this epoch's lambda*."""

    def after_step(self) -> None:
        """What a constraint does after each step (Algorithm 1, step 5)."""

    def logits_of(self, rows: RowBatch) -> Tensor:
        """Of the policy that learns, for each row: (JB, size)."""
        found: Tensor = self.network(self.x.index_select(0, rows.context))
        return found

    def log_target(self, rows: RowBatch) -> Tensor:
        """log h(y|x) of each row: (J, B)."""
        return self.space.log_probability(self.logits_of(rows), rows.action).view(rows.delta.shape)

    @abstractmethod
    def batch_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> Tensor:
        """What is descended (Algorithm 1, step 3)."""

    def record(self, epoch: int) -> EpochRecord:
        return self.measure.record(epoch, self.snapshot(), self.shares)

    def state(self) -> State:
        """Everything that the next epoch depends on."""
        return self.network_state() | self.rows.state().under("rows")

    def restore(self, state: State) -> None:
        self.discard_snapshot()
        self.restore_network(state)
        self.rows.restore(state.below("rows"))


def mean_of(log: LearnerLog, validation: bool, values: Callable[[Lot], Vector]) -> Risk:
    """The mean of a value of each row of one side, with the standard error of independent rows."""
    count, total, squares = 0, 0.0, 0.0
    for rows in lots(log, validation):
        found = values(rows)
        count += len(found)
        total += float(found.sum())
        squares += float(found @ found)
    mean = total / count
    spread = max(0.0, squares / count - mean**2) / max(1, count - 1)
    return Risk(mean, math.sqrt(spread) if count > 1 else math.nan)
