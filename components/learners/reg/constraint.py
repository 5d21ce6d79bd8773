"""The constraint loop of the -reg methods (Algorithm 2, and its twin in the appendix).

sum_j c_j D_f(h||h_j) <= kappa, with c_j from `components/constraint.py`; balanced methods have the single
D_f(h||h_avg). A gauge reports the divergences; its moving average decides.
"""

import math

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.labels import Vector
from multilogger.components.estimators.constraint import constraint_coefficients
from multilogger.components.learners.reg.closed_form import ExactGauge
from multilogger.components.learners.reg.divergence_estimator import Gauge, Scene, check_loggers_known
from multilogger.components.learners.reg.draws import Draws, float_logits
from multilogger.components.learners.reg.method import RegSettings, WeightedRegSettings
from multilogger.components.learners.reg.variational import VariationalGauge
from multilogger.components.learners.training.measure import Measure
from multilogger.components.learners.training.objectives import constraint_shares
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
        logits = float_logits(log.logger_logits)
        scene = Scene(
            log.space.torch,
            network,
            x,
            draws,
            logits,
            measure.counts,
            average,
            settings.batch_size,
            generator,
        )
        self.settings, self.scene = settings, scene
        self.floor = measure.rules.constraint_floor
        self.gauge: Gauge = (
            ExactGauge(scene) if exact else VariationalGauge(scene, log.features, log.labels, settings)
        )
        self.parameters = list(network.parameters())
        self.optimiser = torch.optim.Adam(self.parameters, lr=settings.regulariser_rate, fused=True)
        self.coefficients = torch.ones(scene.gauged) / scene.gauged
        self.average = torch.zeros(scene.gauged)
        self.looks, self.pulls, self.looks_before = 0, 0, 0

    def start_epoch(self, shares: Vector) -> None:
        """Take this epoch's n_j lambda_j, and warm the gauge up before the first."""
        if not self.scene.average:
            floored = constraint_shares(shares, self.floor)
            c = constraint_coefficients(self.scene.counts, floored / self.scene.counts)
            self.coefficients = torch.from_numpy(c.astype(np.float32))
        self.pulls, self.looks_before = 0, self.looks
        if self.looks == 0:
            self.gauge.warm_up(self.settings.warm_up_steps)

    def enforce(self) -> None:
        """Algorithm 2: at most `inner_iterations` rounds, ending when the moving average is within kappa.

        T takes `minimum_steps` steps in any case, so that its report stays in touch with a moving policy.
        """
        for iteration in range(self.settings.inner_iterations):
            self._update_average(self.gauge.look())
            met = float(self.coefficients @ self.average) <= self.settings.kappa
            if not met:
                self.pull()
            self.gauge.step()
            if met and iteration + 1 >= self.settings.minimum_steps:
                return

    def pull(self) -> None:
        """Algorithm 2, step 4: the policy descends the divergence."""
        self.pulls += 1
        self.optimiser.zero_grad()
        objective = self.gauge.objective(self.coefficients)
        # The gauge's own weights take their step elsewhere, so their gradients are not worked out.
        objective.backward(inputs=self.parameters)  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def pulled(self) -> float:
        """The share of this epoch's looks at which the constraint did not hold and moved the policy."""
        looks = self.looks - self.looks_before
        return self.pulls / looks if looks else math.nan

    def variational(self) -> tuple[float, ...]:
        """The moving average of D_f that decides, one a logger or a single one for h_avg; NaN at first."""
        return tuple(self.average.tolist()) if self.looks else (math.nan,) * len(self.average)

    def _update_average(self, values: Tensor) -> None:
        self.looks += 1
        # The first looks are plain means, so that the start at 0 never counts as a small divergence.
        keep = min(self.settings.moving_average, 1.0 - 1.0 / self.looks)
        self.average = keep * self.average + (1.0 - keep) * values

    def state(self) -> State:
        tensors = {"average": self.average.clone(), "generator": self.scene.generator.get_state()}
        state = State(tensors, {"looks": self.looks})
        state |= optimiser_state(self.optimiser).under("optimiser")
        return state | self.gauge.state().under("gauge")

    def restore(self, state: State) -> None:
        self.average = state.tensors["average"].clone()
        self.looks = int(state.numbers["looks"])
        self.scene.generator.set_state(state.tensors["generator"])
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.gauge.restore(state.below("gauge"))
