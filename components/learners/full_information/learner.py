"""`full-information` without an ensemble, and for losses that labels decide together: a single network.

It minimises E_{y ~ h} delta(x, y) itself, in closed form, in place of an estimate from logs.
"""

from dataclasses import replace

import torch

from multilogger.components.datasets.losses import find_loss
from multilogger.components.datasets.torch_losses import EXPECTED_LOSSES
from multilogger.components.errors import BadInput
from multilogger.components.learners.full_information.method import FullInformationSettings
from multilogger.components.learners.training.network_learner import NetworkLearner, open_measure
from multilogger.components.learners.training.objectives import NAIVE, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog

HELD_OUT = 0.25  # of the contexts, as the share of rows that bandit learners keep aside


class FullInformationLearner(NetworkLearner):
    """Descends the true risk of the contexts; a quarter of them is held out and chooses the epoch."""

    settings: FullInformationSettings

    def __init__(self, log: LearnerLog, settings: FullInformationSettings, seed: int) -> None:
        if log.truth is None:
            raise BadInput("full-information needs the true labels, got a log without truth; fill it in")
        super().__init__(log, settings, seed)
        self.truth = log.truth
        self.loss, self.expected = find_loss(settings.loss), EXPECTED_LOSSES[settings.loss]
        order = torch.randperm(log.contexts, generator=self.generator)
        self.held_out = order[: max(1, round(HELD_OUT * log.contexts))]
        self.used = order[len(self.held_out) :]
        self.labels = self.space.actions(self.truth)
        self.measure = open_measure(log, NAIVE, rules_of(settings))

    def run_epoch(self) -> None:
        """As many passes over the contexts as the bandit learners make over their rows in an epoch."""
        passes = max(1, round(int(self.measure.counts.sum()) / len(self.used)))
        self.network.train()
        for _ in range(passes):
            order = self.used[torch.randperm(len(self.used), generator=self.generator)]
            for rows in torch.split(order, self.settings.batch_size):
                if len(rows) < 2:  # BatchNorm has no statistics of a single row
                    continue
                risk = self.expected(self.network(self.x[rows]), self.labels[rows]).mean()
                self.optimiser.zero_grad()
                risk.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()

    def record(self, epoch: int) -> EpochRecord:
        """The usual record, with true risks and no guard: nothing is estimated from weights here."""
        logits = self.logits()
        risks = self.loss.expected(logits, self.truth)
        counts = self.measure.counts
        held_out = float(risks[self.held_out.numpy()].mean())
        return replace(
            self.measure.record(epoch, self.measure.snapshot(logits), counts / counts.sum()),
            train_risk=float(risks[self.used.numpy()].mean()),
            validation_risk=held_out,
            validation_score=held_out,
            eligible=True,
        )

    def state(self) -> State:
        return self.network_state() | State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.restore_network(state)
        self.generator.set_state(state.tensors["generator"])
