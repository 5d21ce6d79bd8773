"""The divergence estimator of the paper: a discriminator T maximises a lower bound of D_f (section 4.1).

Deviation: the paper has f(t) = t^2 - 1 with conjugate t^2/4 + 1. We use f(t) = (t - 1)^2 with conjugate
t^2/4 + t: the same divergence under T -> T + 2, but T = 0 then gives F = 0, so that a fresh T starts at the
smallest divergence there is and not below it.
"""

import torch
from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.learners.reg.discriminators import Discriminators
from multilogger.components.learners.reg.divergence_estimator import Samples
from multilogger.components.learners.reg.method import ConstraintSettings
from multilogger.components.learners.training.adam import FusedAdam
from multilogger.components.learners.training.state import (
    State,
    module_state,
    optimiser_state,
    restore_optimiser,
)


def f(t: Tensor) -> Tensor:
    """f(t) = (t - 1)^2, the generator of D_f = d_2 - 1."""
    return (t - 1.0) ** 2


def f_star(t: Tensor) -> Tensor:
    """f*(t) = sup_u [u t - f(u)] = t^2/4 + t, reached at u = 1 + t/2."""
    return 0.25 * t**2 + t


def variational_value(t_policy: Tensor, t_logger: Tensor) -> Tensor:
    """F of equation (5), from T at actions of the policy (..., m) and at logged actions (..., k): (...).

    F = E_{x, y ~ h} T(x, y) - E_{x, y ~ h_j} f*(T(x, y)), each a mean over a mini-batch
    """
    if t_policy.numel() == 0 or t_logger.numel() == 0:
        raise BadInput(
            f"F needs actions of the policy and of the logger, got {t_policy.numel()} and {t_logger.numel()}"
        )
    return t_policy.mean(dim=-1) - f_star(t_logger).mean(dim=-1)


class VariationalEstimator:
    """One discriminator T per logger, which ascends F at each estimate (Algorithm 2, step 5).

    Both players move by their gradients at (theta_t, w_t), as printed: `estimate` leaves T where it is until
    `step`, so that the policy may descend in between.

    Choice: the policy acts at the contexts of the logged actions, so that T tells actions apart and not
    contexts, and the share of a context in T is worked out once for both.
    Deviation: T ascends on the whole labels that the policy's relaxed samples stand for, and the policy
    descends through the relaxed ones. Trained on relaxed labels, T would only tell fractions from whole
    numbers, and F would estimate no divergence between h and h_j.
    """

    def __init__(self, samples: Samples, features: int, actions: int, settings: ConstraintSettings) -> None:
        self.samples, self.tau, self.batch_norm = samples, settings.tau, settings.discriminator_batch_norm
        self.discriminators = Discriminators(
            samples.divergences, features, actions, settings.discriminator_size, samples.generator
        )
        self.parameters = list(self.discriminators.parameters())
        self.optimiser = FusedAdam(self.parameters, settings.discriminator_rate)
        nothing = torch.empty(0)
        self.contexts, self.relaxed, self.real = nothing, nothing, nothing

    def warm_up(self, steps: int) -> None:
        """An untrained T reports about 0 and would pass any threshold."""
        for _ in range(steps):
            self.estimate()
            self.step()

    def estimate(self) -> Tensor:
        """F of each T on fresh samples: (J,)."""
        self._draw()
        contexts = self.contexts
        values = variational_value(
            *self.discriminators.actions(contexts, self.samples.space.whole(self.relaxed), self.real)
        )
        self.optimiser.forget_gradients()
        (-values.sum()).backward(inputs=self.parameters)  # type: ignore[no-untyped-call]
        self.contexts = contexts.detach()
        return values.detach()

    def step(self) -> None:
        """Algorithm 2, step 5, on the samples of the last estimate."""
        self.optimiser.take_step()

    def objective(self, coefficients: Tensor) -> Tensor:
        """sum_j c_j F(theta, w^j) (Algorithm 2, step 4), but for what the policy cannot move.

        Logged actions do not move with the policy, so without BatchNorm, which mixes the lots, T is asked
        for the policy's actions alone.
        """
        if self.batch_norm:
            lots = self.discriminators.actions(self.contexts, self.relaxed, self.real)
            return coefficients @ variational_value(*lots)
        (values,) = self.discriminators.actions(self.contexts, self.relaxed)
        return coefficients @ values.mean(dim=1)

    def _draw(self) -> None:
        """Algorithm 2, steps 2 and 3: logged actions of each logger, and relaxed ones of the policy there."""
        logged = self.samples.logged()
        loggers, rows = logged.contexts.shape
        x = self.samples.at(logged.contexts.flatten())
        y = self.samples.space.relaxed_sample(self.samples.logits(x), self.tau, self.samples.generator)
        self.relaxed, self.real = y.view(loggers, rows, -1), self.samples.space.encoded(logged.actions)
        self.contexts = self.discriminators.contexts(x.view(loggers, rows, -1))

    def state(self) -> State:
        state = module_state(self.discriminators).under("discriminators")
        return state | optimiser_state(self.optimiser).under("optimiser")

    def restore(self, state: State) -> None:
        self.discriminators.load_state_dict(state.below("discriminators").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
