"""The -reg methods: after each step of direct learning comes the constraint loop (Algorithms 1 and 2).

sum_j c_j D_f(h||h_j) <= kappa, with c_j from `estimators/bounds.py`; balanced methods have the single
D_f(h||h_avg). A divergence estimator reports them; its moving average decides.
"""

import math

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.bounds import constraint_coefficients
from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.reg.divergence_estimator import (
    ClosedFormEstimator,
    DivergenceEstimator,
    Samples,
    check_loggers_known,
)
from multilogger.components.learners.reg.draws import Draws, float_logits, open_draws
from multilogger.components.learners.reg.method import RegSettings, WeightedRegSettings
from multilogger.components.learners.reg.variational import VariationalEstimator
from multilogger.components.learners.training.adam import FusedAdam
from multilogger.components.learners.training.measure import Measure
from multilogger.components.learners.training.objectives import Objective, constraint_shares, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import DivergenceKind
from multilogger.components.learners.training.state import State, optimiser_state, restore_optimiser
from multilogger.components.log.disk import LearnerLog
from multilogger.components.policies.networks import PolicyNetwork


class Constraint:
    """Holds the divergence of a policy down, by an Adam of its own at `regulariser_rate`.

    Choice: Algorithm 2 prints "repeat ... until", which moves the policy even where the constraint holds. We
    let T take its step and look at the moving average first, and move the policy only where it exceeds kappa.
    `measure` is that of the run whose `network` reads contexts `x` (m, d).
    """

    def __init__(
        self,
        network: PolicyNetwork,
        x: Tensor,
        draws: Draws,
        log: LearnerLog,
        measure: Measure,
        settings: RegSettings | WeightedRegSettings,
        seed: int,
    ) -> None:
        average = measure.objective.average
        exact = settings.divergence is DivergenceKind.EXACT
        if exact or average:
            check_loggers_known(log.logger_logits, "the exact divergence" if exact else "balanced-reg")
        # A stream of its own: a constraint that never binds then leaves the run of the direct twin untouched.
        stream = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
        generator = torch.Generator().manual_seed(stream)
        tables, counts = log.logger_logits, measure.counts
        if average:
            tables, counts = log.space.averaged(tables, counts)
        samples = Samples(
            log.space.torch,
            network,
            x,
            draws,
            float_logits(tables),
            counts,
            average,
            settings.batch_size,
            generator,
        )
        self.settings, self.samples = settings, samples
        self.floor = measure.rules.constraint_floor
        self.estimator: DivergenceEstimator = (
            ClosedFormEstimator(samples)
            if exact
            else VariationalEstimator(samples, log.features, log.space.size, settings)
        )
        self.parameters = list(network.parameters())
        self.optimiser = FusedAdam(self.parameters, settings.regulariser_rate)
        self.coefficients = torch.ones(samples.divergences) / samples.divergences
        self.average = torch.zeros(samples.divergences)
        self.estimates, self.pulls, self.estimates_before = 0, 0, 0

    def start_epoch(self, shares: Vector) -> None:
        """Take this epoch's n_j lambda_j, and warm the estimator up before the first."""
        if not self.samples.average:
            floored = constraint_shares(shares, self.floor)
            c = constraint_coefficients(self.samples.counts, floored / self.samples.counts)
            self.coefficients = torch.from_numpy(c.astype(np.float32))
        self.pulls, self.estimates_before = 0, self.estimates
        if self.estimates == 0:
            self.estimator.warm_up(self.settings.warm_up_steps)

    def enforce(self) -> None:
        """Algorithm 2: at most `inner_iterations` rounds, ending when the moving average is within kappa.

        T takes `minimum_steps` steps in any case, so that its report stays in touch with a moving policy.
        """
        for iteration in range(self.settings.inner_iterations):
            self._update_average(self.estimator.estimate())
            met = float(self.coefficients @ self.average) <= self.settings.kappa
            if not met:
                self.pull()
            self.estimator.step()
            if met and iteration + 1 >= self.settings.minimum_steps:
                return

    def pull(self) -> None:
        """Algorithm 2, step 4: the policy descends the divergence."""
        self.pulls += 1
        self.optimiser.forget_gradients()
        objective = self.estimator.objective(self.coefficients)
        # The estimator's own weights take their step elsewhere, so their gradients are not worked out.
        objective.backward(inputs=self.parameters)  # type: ignore[no-untyped-call]
        self.optimiser.take_step()

    def pulled(self) -> float:
        """The share of this epoch's estimates at which the constraint did not hold and moved the policy."""
        estimates = self.estimates - self.estimates_before
        return self.pulls / estimates if estimates else math.nan

    def variational(self) -> tuple[float, ...]:
        """The moving average of D_f that decides, one per logger or a single one for h_avg; NaN at first."""
        return tuple(self.average.tolist()) if self.estimates else (math.nan,) * len(self.average)

    def _update_average(self, values: Tensor) -> None:
        self.estimates += 1
        # The first estimates are plain means, so that the start at 0 never counts as a small divergence.
        keep = min(self.settings.moving_average, 1.0 - 1.0 / self.estimates)
        self.average = keep * self.average + (1.0 - keep) * values

    def state(self) -> State:
        tensors = {"average": self.average.clone(), "generator": self.samples.generator.get_state()}
        state = State(tensors, {"estimates": self.estimates})
        state |= optimiser_state(self.optimiser).under("optimiser")
        return state | self.estimator.state().under("estimator")

    def restore(self, state: State) -> None:
        self.average = state.tensors["average"].clone()
        self.estimates = int(state.numbers["estimates"])
        self.samples.generator.set_state(state.tensors["generator"])
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.estimator.restore(state.below("estimator"))


class ConstrainedLearner(DirectLearner):
    """A network policy that descends R_mini, and after each step the divergence where it exceeds kappa."""

    def __init__(
        self, log: LearnerLog, objective: Objective, settings: RegSettings | WeightedRegSettings, seed: int
    ) -> None:
        floor = settings.constraint_floor if isinstance(settings, WeightedRegSettings) else 0.0
        super().__init__(log, objective, settings, seed, rules_of(settings, settings.kappa, floor))
        self.constraint = Constraint(
            self.network, self.x, open_draws(log, self.rows), log, self.measure, settings, seed
        )

    def start_epoch(self) -> None:
        self.constraint.start_epoch(self.shares)

    def after_step(self) -> None:
        self.constraint.enforce()

    def record(self, epoch: int) -> EpochRecord:
        known, pulled = self.constraint.variational(), self.constraint.pulled()
        return self.measure.record(epoch, self.snapshot(), self.shares, known, pulled=pulled)

    def state(self) -> State:
        return super().state() | self.constraint.state().under("constraint")

    def restore(self, state: State) -> None:
        super().restore(state)
        self.constraint.restore(state.below("constraint"))
