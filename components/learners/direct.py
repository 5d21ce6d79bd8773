"""Direct learning (section 2.1.1) and the outer loop of Algorithm 1: minimise a mini-batch risk with Adam."""

import numpy as np
import torch
from torch import Tensor

from multilogger.components.importance import SELF_NORMALISED
from multilogger.components.learners.constrained import Constraint
from multilogger.components.learners.epoch_record import EpochRecord, Look, Measure
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import Objective, minibatch_risk, shift_of
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.learners.training_log import TensorRows, TrainingLog
from multilogger.components.learners.warm_start import clone_best_logger
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Matrix
from multilogger.components.torch_policies import log_probability


class DirectLearner:
    """A network policy that descends R_mini, and after each step the constraint if there is one.

    lambda* is recomputed at the start of each epoch on the training split with the current policy.
    """

    def __init__(
        self, log: TrainingLog, objective: Objective, constrained: bool, settings: LearnerSettings, seed: int
    ) -> None:
        self.objective, self.settings = objective, settings
        self.generator = torch.Generator().manual_seed(seed)
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        self.network = PolicyNetwork(log.features, log.labels, settings.policy_size, self.generator)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.risk_rate, weight_decay=settings.weight_decay
        )
        self.measure = Measure(log, objective, settings)
        self.looked: Look | None = None
        self.to_clone = settings.warm_start > 0
        self.rows = TensorRows.of(self.measure.train)
        self.log_denominator = objective.log_denominator(self.rows)
        self.shift = shift_of(self.measure.train, settings.loss_shift)
        self.losses = self.rows.delta - self.shift
        self.shares = self.measure.train.counts / self.measure.train.counts.sum()
        self.constraint = (
            Constraint(self.network, self.x, self.rows, log, objective, settings, seed)
            if constrained
            else None
        )

    @property
    def size(self) -> NetworkSize:
        return self.settings.policy_size

    @property
    def epochs(self) -> int:
        return self.settings.epochs + (self.settings.warm_start > 0)

    @property
    def patience(self) -> int:
        return self.settings.patience

    def run_epoch(self) -> None:
        """Algorithm 1, steps 2 to 5, once through the log; the first epoch of a warm start only clones."""
        if self.to_clone:
            self.to_clone, self.looked = False, None
            clone_best_logger(self.network, self.x, self.measure, self.settings, self.generator)
            return
        batch = self.look().train
        self.shares = self.objective.shares(batch, self.settings)
        shares = torch.from_numpy(self.shares.astype(np.float32))
        if self.settings.loss_shift is LossShift.RUNNING:
            running = self.objective.risk(batch, self.shares, SELF_NORMALISED).value
            self.losses = self.rows.delta - min(self.shift, running)
        if self.constraint is not None:
            self.constraint.start_epoch(self.shares)
        self.looked = None
        for rows in self.rows.batches(self.settings.batch_size, self.generator):
            self.descend_risk(rows, shares)
            if self.constraint is not None:
                self.constraint.enforce()

    def descend_risk(self, rows: Tensor, shares: Tensor) -> None:
        """Algorithm 1, steps 3 and 4, on rows (J, B)."""
        flat = rows.flatten()
        self.network.train()
        logits = self.network(self.x[self.rows.context[flat]])
        log_target = log_probability(logits, self.rows.action[flat]).view(rows.shape)
        risk = minibatch_risk(
            log_target,
            self.log_denominator[rows],
            self.losses[rows],
            shares,
            self.settings.weights,
            self.settings.clip,
        )
        self.optimiser.zero_grad()
        risk.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def logits(self) -> Matrix:
        """Logits of the current policy on all contexts: (m, q)."""
        return network_logits(self.network, self.x)

    def look(self) -> Look:
        """The current policy as measured; what one epoch ends with, the next begins with."""
        if self.looked is None:
            self.looked = self.measure.look(self.logits())
        return self.looked

    def record(self, epoch: int) -> EpochRecord:
        variational = () if self.constraint is None else self.constraint.variational()
        return self.measure.record(epoch, self.look(), self.shares, variational)

    def state(self) -> State:
        """Everything that the next epoch depends on."""
        state = module_state(self.network).under("network")
        state |= optimiser_state(self.optimiser).under("optimiser")
        state |= State({"generator": self.generator.get_state()})
        if self.constraint is not None:
            state |= self.constraint.state().under("constraint")
        return state

    def restore(self, state: State) -> None:
        self.to_clone, self.looked = False, None
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.generator.set_state(state.tensors["generator"])
        if self.constraint is not None:
            self.constraint.restore(state.below("constraint"))
