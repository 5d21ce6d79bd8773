"""The constrained problem of section 4 with the closed form of the divergence: no discriminator, no minimax.

min R(h)  subject to  log sum_j c_j d_2(h||h_j) <= log least + log(1 + kappa),

the constraint of the -reg methods on a scale where d_2 = 1e7 is 16, and counted from the least value that a
policy between the loggers has (`multiplier.py`): kappa = 1 lets the second moment of the
weights be twice what it has to be. Balanced methods have an upper bound of d_2(h||h_avg), the harmonic one
of `estimators/divergences.py`. One pass of the network and one gradient a step serve the risk and the
constraint alike.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from multilogger.components.estimators.bounds import constraint_coefficients
from multilogger.components.learners.exact.batches import ExactBatch, open_contexts
from multilogger.components.learners.exact.method import ExactSettings, WeightedExactSettings
from multilogger.components.learners.exact.multiplier import Candidates, Multiplier, log_terms
from multilogger.components.learners.reg.divergence_estimator import check_loggers_known
from multilogger.components.learners.training.network_learner import RiskLearner, open_measure
from multilogger.components.learners.training.objectives import Objective, row_risk, rules_of
from multilogger.components.learners.training.record import EpochRecord, expm1_or_inf
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog

# Choice: Adam's usual second moment remembers a thousand steps, more than a run has. It would carry the large
# gradients of a policy outside the constraint into all that follows.
BETAS = (0.9, 0.95)


class ExactLearner(RiskLearner):
    """A network policy that descends an augmented Lagrangian; its multiplier moves once per epoch.

    Choice: a mini-batch is made of contexts with all rows logged at them. The discriminator needs actions
    drawn anew and so one pass a row; the closed form belongs to a context, which R replays can share. Of a
    log on disk it is made of single rows, and of other contexts for the constraint.
    Choice: the gradient goes by the batch, the multiplier by the value over all contexts, because the mean of
    d_2 hangs on few contexts and the logarithm of a batch's mean is too low.
    Choice: the first `warm_up_epochs` descend the risk alone. An untrained policy is far from a sharp logger,
    and the constraint would pull it onto that logger, from where the risk leads away only slowly.
    """

    settings: ExactSettings | WeightedExactSettings

    def __init__(
        self,
        log: LearnerLog,
        objective: Objective,
        settings: ExactSettings | WeightedExactSettings,
        seed: int,
    ) -> None:
        check_loggers_known(log.logger_logits, f"{objective.name}-exact")
        measure = open_measure(log, objective, rules_of(settings, settings.kappa))
        super().__init__(log, measure, settings, seed, BETAS)
        self.objective, self.rows = objective, open_contexts(log, objective, settings, seed, self.generator)
        known = self.space.known_loggers(log.logger_logits)
        judged, self.judged_counts = measure.averaged or (known, measure.counts)
        self.loggers = judged.to(self.x.dtype)
        self.nearest = Candidates.of(known, judged)
        self.multiplier = Multiplier(0.0, settings.multiplier_rate)
        self.bound = self.log_bound()
        self.finished, self.steps, self.pulls = 0, 0, 0

    def run_epoch(self) -> None:
        """One pass over the contexts at fixed lambda*, then one step of the multiplier."""
        if self.made_warm_start():
            return
        shift = self.update_shares()
        self.bound = self.log_bound()
        lambdas, log_shares = self.lambdas(), self.log_shares()
        self.network.train()
        self.steps, self.pulls = 0, 0
        for _ in range(self.settings.passes_per_epoch):
            for batch in self.rows.epoch():
                logits = self.network(self.x.index_select(0, batch.contexts))
                risk = self.risk(logits, batch, lambdas, shift)
                self.steps += 1
                if self.warming_up:
                    self.optimiser.descend(risk)
                    continue
                constraint = self.constraint(logits, batch, log_shares)
                factors = self.multiplier.factors(constraint.detach() - self.bound)
                self.pulls += bool(factors.excess > 0)
                self.optimiser.descend(risk, constraint, factors=factors)
        self.finished += 1
        if not self.warming_up:
            self.multiplier = self.multiplier.after(self.excess())

    @property
    def warming_up(self) -> bool:
        return self.finished < self.settings.warm_up_epochs

    def lambdas(self) -> Tensor:
        """lambda_j of each logger: (J,)."""
        return torch.from_numpy(self.shares / self.measure.counts).to(self.x.dtype)

    def log_shares(self) -> Tensor:
        """log of c_j, or of n_j/n where the divergence is from h_avg: (J,)."""
        counts = self.measure.counts
        c = (
            self.judged_counts / self.judged_counts.sum()
            if self.objective.average
            else constraint_coefficients(counts, self.shares / counts)
        )
        return torch.from_numpy(c).log().to(self.x.dtype)

    def log_bound(self) -> float:
        """log least + log(1 + kappa), what the constraint may be at this epoch's lambda*."""
        least = self.nearest.log_least(self.log_shares(), self.objective.average)
        return least + math.log1p(self.settings.kappa)

    def risk(self, logits: Tensor, batch: ExactBatch, lambdas: Tensor, shift: float) -> Tensor:
        """R on a mini-batch, from the policy's logits at its contexts (K, size)."""
        return row_risk(
            self.space.log_probability_at(logits, batch.place, batch.action),
            batch.log_denominator,
            batch.delta - shift,
            lambdas.index_select(0, batch.logger) * batch.scale,
            self.settings.weights,
            self.settings.clip,
        )

    def constraint(self, logits: Tensor, batch: ExactBatch, log_shares: Tensor) -> Tensor:
        """The logarithm of the constraint's left-hand side on a mini-batch, from the same logits."""
        moments = self.loggers.at(batch.judged).log_d2(batch.judged_part(logits))
        return log_constraint(moments, log_shares, self.objective.average)

    def excess(self) -> float:
        """g = log sum_j c_j d_2 - log least - log(1 + kappa) of the current policy over all contexts."""
        return self.snapshot().log_constraint(self.shares) - self.bound

    def record(self, epoch: int) -> EpochRecord:
        """The usual record; an epoch outside the constraint is not eligible."""
        allowed = expm1_or_inf(self.bound)
        record = self.measure.record(
            epoch,
            self.snapshot(),
            self.shares,
            multiplier=self.multiplier.value,
            pulled=self.pulls / self.steps if self.steps else math.nan,
            allowed=allowed,
        )
        met = self.excess() <= math.log1p(self.settings.constraint_tolerance)
        return replace(record, eligible=record.eligible and met)

    def state(self) -> State:
        """Everything that the next epoch depends on."""
        numbers = {"multiplier": self.multiplier.value, "finished": self.finished}
        return self.network_state() | self.rows.state().under("rows") | State({}, numbers)

    def restore(self, state: State) -> None:
        self.discard_snapshot()
        self.restore_network(state)
        self.rows.restore(state.below("rows"))
        self.multiplier = replace(self.multiplier, value=state.numbers["multiplier"])
        self.finished = int(state.numbers["finished"])


def log_constraint(log_moments: Tensor, log_shares: Tensor, average: bool) -> Tensor:
    """log(1 + the left-hand side of the constraint) from log d_2(h||h_j; x) of B contexts (B, J).

    log (1/B) sum_x sum_j c_j d_2(h||h_j; x), or log (1/B) sum_x 1 / sum_j (n_j/n) / d_2(h||h_j; x) for h_avg
    """
    terms = log_terms(log_moments, log_shares, average)
    return torch.logsumexp(terms, dim=0) - math.log(len(terms))
