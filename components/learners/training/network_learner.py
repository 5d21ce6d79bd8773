"""What learners of one network share: the measure, contexts, the network, its Adam, and the warm start.

In a warm start a policy learns to act as the best logger does, from its log, before it weighs anything. A
policy that starts uniform over q labels has a weight of about 2^-q on each row of a sharp logger, and then
learns from nothing but the rows of the loggers that are nearly uniform. A copy of the best logger starts
where weights are about 1.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.training.adam import BETAS, FusedAdam
from multilogger.components.learners.training.measure import Example, Measure, Snapshot
from multilogger.components.learners.training.objectives import Objective, Rules
from multilogger.components.learners.training.row_measures import MemoryMeasure, StreamedMeasure
from multilogger.components.learners.training.settings import (
    DescentSettings,
    LossShift,
    NetworkSettings,
    WarmStartSettings,
)
from multilogger.components.learners.training.state import (
    State,
    module_state,
    optimiser_state,
    restore_optimiser,
)
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, network_logits
from multilogger.components.policies.policy import Standardisation

CLONED_ROWS = 500  # of a mini-batch of the warm start
FEW_ROWS = 10.0  # effective ones; a uniform start with fewer learns from the other loggers alone
COPY_STEPS = 630  # that make a copy of a sharp logger, as on tmc500


def open_measure(log: LearnerLog, objective: Objective, rules: Rules) -> Measure:
    """What is measured of policies under one objective."""
    if isinstance(log, StreamedLog):
        return StreamedMeasure(log, objective, rules)
    return MemoryMeasure(log, objective, rules)


class ContextLearner:
    """A policy on the log's contexts, standardised; all that is drawn comes from one generator."""

    def __init__(self, log: LearnerLog, settings: NetworkSettings, seed: int) -> None:
        self.settings = settings
        self.generator = torch.Generator().manual_seed(seed)
        self.standardisation = Standardisation.of(log.x, settings.standardise)
        self.x = self.standardisation(log.x)

    @property
    def size(self) -> NetworkSize:
        return self.settings.policy_size

    @property
    def epochs(self) -> int:
        return self.settings.epochs

    @property
    def patience(self) -> int:
        return self.settings.patience


class NetworkLearner(ContextLearner):
    """A network policy; `generator` has drawn its weights and goes on from there."""

    def __init__(self, log: LearnerLog, settings: NetworkSettings, seed: int) -> None:
        super().__init__(log, settings, seed)
        self.space = log.space.torch
        self.network = PolicyNetwork(log.features, log.space.size, settings.policy_size, self.generator)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.risk_rate, weight_decay=settings.weight_decay
        )

    def logits(self) -> Matrix:
        """Logits of the current policy on all contexts: (m, q)."""
        return network_logits(self.network, self.x)

    def network_state(self) -> State:
        """The weights and Adam's moments."""
        state = module_state(self.network).under("network")
        return state | optimiser_state(self.optimiser).under("optimiser")

    def restore_network(self, state: State) -> None:
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))


class RiskLearner(NetworkLearner):
    """A network policy that descends an estimated risk; lambda* is recomputed at the start of each epoch."""

    settings: DescentSettings
    optimiser: FusedAdam

    def __init__(
        self,
        log: LearnerLog,
        measure: Measure,
        settings: DescentSettings,
        seed: int,
        betas: tuple[float, float] = BETAS,
    ) -> None:
        super().__init__(log, settings, seed)
        self.optimiser = FusedAdam(
            self.network.parameters(), settings.risk_rate, settings.weight_decay, betas
        )
        self.measure = measure
        self.last_snapshot: Snapshot | None = None
        self.warm_start_settings = warm_start_of(measure, len(self.x), settings)
        self.to_clone = self.warm_start_settings.warm_start > 0
        self.shift = measure.loss_shift()
        self.shares = measure.counts / measure.counts.sum()

    @property
    def epochs(self) -> int:
        return self.settings.epochs + (self.warm_start_settings.warm_start > 0)

    def made_warm_start(self) -> bool:
        """Make the first epoch of a warm start, which only copies the best logger; False if it is another."""
        if not self.to_clone:
            return False
        self.discard_snapshot()
        clone_best_logger(self.network, self.x, self.measure, self.warm_start_settings, self.generator)
        return True

    def discard_snapshot(self) -> None:
        """The policy is not the one that was measured, and is past the warm start."""
        self.to_clone, self.last_snapshot = False, None

    def snapshot(self) -> Snapshot:
        """The current policy as measured; what one epoch ends with, the next begins with."""
        if self.last_snapshot is None:
            self.last_snapshot = self.measure.snapshot(self.logits())
        return self.last_snapshot

    def update_shares(self) -> float:
        """Take n_j lambda_j of the current policy, and give the loss shift of the epoch that begins."""
        snapshot = self.snapshot()
        self.shares = snapshot.shares()
        self.last_snapshot = None
        rules = self.measure.rules
        if rules.loss_shift is LossShift.RUNNING:
            return min(self.shift, rules.shift_share * snapshot.running_risk(self.shares))
        return self.shift


def warm_start_of(measure: Measure, contexts: int, settings: WarmStartSettings) -> WarmStartSettings:
    """How to start, where the log is to say it (-1): warm, if a uniform policy has few effective rows.

    They are counted among the best logger's training rows, which a policy has most to learn from.
    """
    if settings.warm_start >= 0:
        return settings
    best = int(np.argmin(measure.mean_losses()))
    uniform = measure.snapshot(np.zeros((contexts, measure.space.size)))
    passes = 0
    if uniform.train_weights()[best].effective_rows < FEW_ROWS:
        rows = int(measure.counts[best]) if measure.loggers is None else len(measure.contexts_of(best))
        passes = -(-COPY_STEPS // max(1, rows // CLONED_ROWS))
    return replace(settings, warm_start=passes)


def clone_best_logger(
    network: PolicyNetwork,
    x: Tensor,
    measure: Measure,
    settings: WarmStartSettings,
    generator: torch.Generator,
) -> None:
    """Teach a policy to act as the logger with the lowest mean loss does, at the contexts of its rows.

    From its probabilities if they are known, else from its actions.
    """
    best = int(np.argmin(measure.mean_losses()))
    if measure.loggers is None:
        clone(
            network, x, lambda: measure.logged_actions(best, CLONED_ROWS, generator), measure.space, settings
        )
    else:
        contexts = measure.contexts_of(best)
        examples = contexts, measure.space.probabilities(measure.loggers.logits_of(best)[contexts]).float()
        clone(network, x, lambda: shuffled(examples, CLONED_ROWS, generator), measure.space, settings)


def shuffled(examples: Example, batch_rows: int, generator: torch.Generator) -> Iterator[Example]:
    """Every example once, in mini-batches."""
    contexts, targets = examples
    order = torch.randperm(len(contexts), generator=generator)
    for rows in torch.tensor_split(order, max(1, len(order) // batch_rows)):
        yield contexts[rows], targets[rows]


def clone(
    network: PolicyNetwork,
    x: Tensor,
    one_pass: Callable[[], Iterator[Example]],
    space: TorchSpace,
    settings: WarmStartSettings,
) -> None:
    """Descend the cross entropy of the examples, which is least at the logger's own probabilities.

    The rate falls to 0 over the passes.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.warm_start_rate)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.warm_start)
    network.train()
    for _ in range(settings.warm_start):
        for contexts, targets in one_pass():
            if len(contexts) <= network.size.batch_norm:  # no statistics of a single row
                continue
            loss = space.cross_entropy(network(x.index_select(0, contexts)), targets)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        slower.step()
