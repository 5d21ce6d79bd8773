"""The constrained problem of section 4 with the closed form of the divergence: no discriminator, no minimax.

min R(h)  subject to  log(1 + sum_j c_j D_f(h||h_j)) <= log(1 + kappa),

the constraint of the -reg methods on a scale where d_2 = 1e7 is 16. Balanced methods have an upper bound of
D_f(h||h_avg), the harmonic one of `components/divergences.py`. One pass of the network and one gradient a
step serve the risk and the constraint alike.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from multilogger.components.constraint import constraint_coefficients
from multilogger.components.importance import SELF_NORMALISED
from multilogger.components.learners.context_batches import ContextBatch, ContextRows
from multilogger.components.learners.epoch_record import EpochRecord, Look, Measure
from multilogger.components.learners.gauges import check_loggers_known
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.multiplier import Multiplier
from multilogger.components.learners.objectives import Objective, row_risk, shift_of
from multilogger.components.learners.settings import LearnerSettings, LossShift
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.warm_start import clone_best_logger
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.torch_policies import KnownLoggers, log_d2_each, log_probability_at

# Choice: Adam's usual second moment remembers a thousand steps, more than a run has. It would carry the large
# gradients of a policy outside the constraint into all that follows.
BETAS = (0.9, 0.95)


class ExactLearner:
    """A network policy that descends an augmented Lagrangian; its multiplier moves once an epoch.

    Choice: a mini-batch is made of contexts with all rows logged at them. The discriminator needs actions
    drawn anew and so one pass a row; the closed form belongs to a context, which R replays can share.
    Choice: the gradient goes by the batch, the multiplier by the value over all contexts, because the mean of
    d_2 hangs on few contexts and the logarithm of a batch's mean is too low.
    Choice: the first `warm_up_epochs` descend the risk alone. An untrained policy is far from a sharp logger,
    and the constraint would pull it onto that logger, from where the risk leads away only slowly.
    """

    def __init__(self, log: TrainingLog, objective: Objective, settings: LearnerSettings, seed: int) -> None:
        check_loggers_known(log.logger_logits, f"{objective.name}-exact")
        self.objective, self.settings = objective, settings
        self.generator = torch.Generator().manual_seed(seed)
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        self.network = PolicyNetwork(log.features, log.labels, settings.policy_size, self.generator)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(),
            lr=settings.risk_rate,
            betas=BETAS,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self.measure = Measure(log, objective, settings)
        self.looked: Look | None = None
        self.to_clone = settings.warm_start > 0
        self.rows = ContextRows.of(self.measure.train, log.contexts)
        self.log_denominator = objective.log_denominator(self.rows.rows)
        self.loggers = KnownLoggers.of(log.logger_logits).to(self.x.dtype)
        self.shift = shift_of(self.measure.train, settings.loss_shift)
        self.losses = self.rows.rows.delta - self.shift
        self.shares = self.measure.train.counts / self.measure.train.counts.sum()
        self.multiplier = Multiplier(0.0, settings.multiplier_rate)
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
        """One pass over the contexts at fixed lambda*, then one step of the multiplier.

        The first epoch of a warm start only clones.
        """
        if self.to_clone:
            self.to_clone, self.looked = False, None
            clone_best_logger(self.network, self.x, self.measure, self.settings, self.generator)
            return
        batch = self.look().train
        self.shares = self.objective.shares(batch, self.settings)
        if self.settings.loss_shift is LossShift.RUNNING:
            running = self.objective.risk(batch, self.shares, SELF_NORMALISED).value
            self.losses = self.rows.rows.delta - min(self.shift, running)
        row_lambda = torch.from_numpy(self.shares / self.measure.train.counts).float()[self.rows.logger]
        log_shares = self.log_shares()
        self.looked = None
        self.network.train()
        for chosen in self.rows.batches(self.rows.steps(self.settings.batch_size), self.generator):
            risk, excess = self.risk_and_excess(chosen, row_lambda, log_shares)
            loss = risk if self.warming_up else self.multiplier.descended(risk, excess)
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
        self.finished += 1
        if not self.warming_up:
            self.multiplier = self.multiplier.after(self.excess())

    @property
    def warming_up(self) -> bool:
        return self.finished < self.settings.warm_up_epochs

    def log_shares(self) -> Tensor:
        """log of c_j, or of n_j/n where the divergence is from h_avg: (J,)."""
        counts = self.measure.train.counts
        c = (
            counts / counts.sum()
            if self.objective.average
            else constraint_coefficients(counts, self.shares / counts)
        )
        return torch.from_numpy(c).log().to(self.x.dtype)

    def risk_and_excess(
        self, batch: ContextBatch, row_lambda: Tensor, log_shares: Tensor
    ) -> tuple[Tensor, Tensor]:
        """R and g on a mini-batch, from one pass; `row_lambda` (n,) is lambda_j of each training row."""
        logits = self.network(self.x[batch.contexts])
        risk = row_risk(
            log_probability_at(logits, batch.place, self.rows.rows.action[batch.rows]),
            self.log_denominator[batch.rows],
            self.losses[batch.rows],
            row_lambda[batch.rows] * (len(self.x) / len(batch.contexts)),
            self.settings.weights,
            self.settings.clip,
        )
        moments = log_d2_each(logits, self.loggers.at(batch.contexts))
        excess = log_constraint(moments, log_shares, self.objective.average) - math.log1p(self.settings.kappa)
        return risk, excess

    def excess(self) -> float:
        """g = log(1 + sum_j c_j D_f) - log(1 + kappa) of the current policy over all contexts."""
        return self.look().log_constraint(self.shares) - math.log1p(self.settings.kappa)

    def look(self) -> Look:
        """The current policy as measured; what one epoch ends with, the next begins with."""
        if self.looked is None:
            self.looked = self.measure.look(network_logits(self.network, self.x))
        return self.looked

    def record(self, epoch: int) -> EpochRecord:
        """The usual record; an epoch outside the constraint is not eligible."""
        record = self.measure.record(epoch, self.look(), self.shares, multiplier=self.multiplier.value)
        met = record.constraint <= self.settings.kappa * (1.0 + self.settings.constraint_tolerance)
        return replace(record, eligible=record.eligible and met)

    def state(self) -> State:
        """Everything that the next epoch depends on."""
        state = module_state(self.network).under("network")
        state |= optimiser_state(self.optimiser).under("optimiser")
        numbers = {"multiplier": self.multiplier.value, "finished": self.finished}
        return state | State({"generator": self.generator.get_state()}, numbers)

    def restore(self, state: State) -> None:
        self.to_clone, self.looked = False, None
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.generator.set_state(state.tensors["generator"])
        self.multiplier = replace(self.multiplier, value=state.numbers["multiplier"])
        self.finished = int(state.numbers["finished"])


def log_constraint(log_moments: Tensor, log_shares: Tensor, average: bool) -> Tensor:
    """log(1 + the left-hand side of the constraint) from log d_2(h||h_j; x) of B contexts (B, J).

    log (1/B) sum_x sum_j c_j d_2(h||h_j; x), or log (1/B) sum_x 1 / sum_j (n_j/n) / d_2(h||h_j; x) for h_avg
    """
    if average:
        terms = -torch.logsumexp(log_shares - log_moments, dim=1)
    else:
        terms = torch.logsumexp(log_shares + log_moments, dim=1)
    return torch.logsumexp(terms, dim=0) - math.log(len(terms))
