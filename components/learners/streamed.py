"""Direct learning (section 2.1.1) from a log that is larger than memory: `direct.py`, with rows from disk."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.epoch_record import EpochRecord
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import Objective, minibatch_risk, shift_from
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.learners.streamed_batches import Records, streamed_batches
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.streamed_measure import StreamedLook, StreamedMeasure
from multilogger.components.learners.warm_start import BATCH_ROWS, Example, clone
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.torch_policies import log_probability


class StreamedLearner:
    """A network policy that descends R_mini; contexts are in memory, rows pass through a shuffle buffer.

    An epoch reads the log twice: once for its mini-batches, once for everything that is measured of the
    policy, lambda* of the next epoch included.
    """

    def __init__(self, log: StreamedLog, objective: Objective, settings: LearnerSettings, seed: int) -> None:
        self.log, self.objective, self.settings, self.seed = log, objective, settings, seed
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        generator = torch.Generator().manual_seed(seed)
        self.network = PolicyNetwork(log.features, log.labels, settings.policy_size, generator)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.risk_rate, weight_decay=settings.weight_decay
        )
        self.measure = StreamedMeasure(log, objective, settings)
        self.looked: StreamedLook | None = None
        self.to_clone = settings.warm_start > 0
        self.mean_losses = (log.train.delta_sums / log.train.counts).tolist()
        self.shift = shift_from(self.mean_losses, log.labels, settings.loss_shift)
        self.shares = log.train.counts / log.train.counts.sum()
        self.finished = 0

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
            clone(self.network, self.x, self.examples, self.settings)
            return
        sums = self.look().sums
        self.shares = self.objective.shares_from(sums.clipped, self.settings)
        shares = torch.from_numpy(self.shares.astype(np.float32))
        shift = self.shift
        if self.settings.loss_shift is LossShift.RUNNING:
            shift = min(shift, self.measure.running_risk(sums, self.shares))
        self.looked = None
        for rows in self.batches(self.settings.batch_size, self.finished):
            self.descend_risk(rows, shares, shift)
        self.finished += 1

    def batches(self, batch_size: int, epoch: int) -> Iterator[Records]:
        """Rows (J, B) of one epoch, in an order of its own."""
        memory_rows, average = self.settings.memory_rows, self.objective.average
        return streamed_batches(self.log, average, batch_size, memory_rows, self.seed, epoch)

    def examples(self, epoch: int) -> Iterator[Example]:
        """The logged actions of the logger with the lowest mean loss, in mini-batches."""
        best = int(np.argmin(self.mean_losses))
        return (contexts_and_actions(rows[best]) for rows in self.batches(BATCH_ROWS, epoch))

    def descend_risk(self, rows: Records, shares: Tensor, shift: float) -> None:
        """Algorithm 1, steps 3 and 4, on rows (J, B)."""
        self.network.train()
        contexts, action = contexts_and_actions(rows.ravel())
        risk = minibatch_risk(
            log_probability(self.network(self.x[contexts]), action).view(rows.shape),
            torch.from_numpy(rows["log_denominator"].copy()),
            torch.from_numpy(rows["delta"].copy()) - shift,
            shares,
            self.settings.weights,
            self.settings.clip,
        )
        self.optimiser.zero_grad()
        risk.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def look(self) -> StreamedLook:
        """The current policy as measured; what one epoch ends with, the next begins with."""
        if self.looked is None:
            self.looked = self.measure.look(network_logits(self.network, self.x))
        return self.looked

    def record(self, epoch: int) -> EpochRecord:
        return self.measure.record(epoch, self.look(), self.shares)

    def state(self) -> State:
        """Everything that the next epoch depends on; the order of its rows follows from its number."""
        state = module_state(self.network).under("network")
        state |= optimiser_state(self.optimiser).under("optimiser")
        return state | State({}, {"finished": self.finished})

    def restore(self, state: State) -> None:
        self.to_clone, self.looked = False, None
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.finished = int(state.numbers["finished"])


def contexts_and_actions(rows: Records) -> Example:
    """Contexts by number (n,) and actions (n, q) of rows (n,)."""
    contexts = torch.from_numpy(rows["context"].astype(np.int64))
    return contexts, torch.from_numpy(rows["action"].astype(np.float32))
