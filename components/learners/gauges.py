"""What tells the constraint how far the policy stands from its loggers (section 4.1).

A gauge looks at the policy on fresh rows, gives one estimate of D_f a logger (a single one from h_avg for
balanced methods), and then the differentiable quantity that the policy descends.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.learners.gauge_draws import Draws
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.networks import Discriminator, PolicyNetwork
from multilogger.components.policies import Matrix, Vector
from multilogger.components.torch_policies import log_d2, relaxed_sample, sample
from multilogger.components.variational import variational_objective

LARGEST_LOG = 80.0  # exp beyond it leaves float32


@dataclass(frozen=True)
class Scene:
    """What every gauge looks at: the policy, its contexts (m, d), draws of rows, the loggers' logits.

    `counts` (J,) are the training rows of each logger; `average` says whether the divergence is from h_avg.
    """

    network: PolicyNetwork
    x: Tensor
    draws: Draws
    logger_logits: tuple[Tensor, ...]
    counts: Vector
    average: bool
    batch_size: int
    generator: torch.Generator

    @property
    def gauged(self) -> int:
        """How many divergences there are: one a logger, or the single one from h_avg."""
        return 1 if self.average else len(self.counts)

    def contexts(self, j: int) -> Tensor:
        """Contexts of B training rows of logger j, or of all loggers for h_avg: (B,)."""
        return self.draws.contexts(None if self.average else j, self.batch_size, self.generator)

    def contexts_of_all(self) -> Tensor:
        """Contexts of B training rows of any logger: (B,)."""
        return self.draws.contexts(None, self.batch_size, self.generator)

    def logits(self, contexts: Tensor) -> Tensor:
        """The policy as it trains, with batch statistics: (B, q)."""
        self.network.train()
        logits: Tensor = self.network(self.x[contexts])
        return logits

    def real(self, j: int) -> tuple[Tensor, Tensor]:
        """Contexts and actions of logger j as logged, or drawn from h_avg (appendix, step 2)."""
        if not self.average:
            logged = self.draws.logged(j, self.batch_size, self.generator)
            return self.x[logged.contexts], logged.actions
        contexts = self.contexts_of_all()
        shares = torch.from_numpy(self.counts / self.counts.sum())
        chosen = torch.multinomial(shares, len(contexts), replacement=True, generator=self.generator)
        logits = torch.stack(self.logger_logits)[chosen, contexts]
        return self.x[contexts], sample(logits, self.generator)


class Gauge(Protocol):
    """Call `look`, then `objective` for the same rows."""

    def warm_up(self, steps: int) -> None: ...

    def look(self) -> Tensor: ...

    def objective(self, coefficients: Tensor) -> Tensor: ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


class ExactGauge:
    """d_2 in closed form on a mini-batch of contexts; for h_avg its harmonic upper bound."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.log_means = torch.zeros(scene.gauged)

    def warm_up(self, steps: int) -> None:
        """Nothing to train."""

    def look(self) -> Tensor:
        """D_f = d_2 - 1 of each logger on fresh contexts: (J,)."""
        scene = self.scene
        contexts = scene.contexts_of_all()
        logits = scene.logits(contexts)
        moments = torch.stack([log_d2(logits, table[contexts]) for table in scene.logger_logits])
        if scene.average:
            log_shares = torch.from_numpy(np.log(scene.counts / scene.counts.sum())).to(moments.dtype)
            moments = -torch.logsumexp(log_shares[:, None] - moments, dim=0, keepdim=True)
        self.log_means = torch.logsumexp(moments, dim=1) - math.log(len(contexts))
        return torch.expm1(self.log_means.detach().clamp_max(LARGEST_LOG))

    def objective(self, coefficients: Tensor) -> Tensor:
        """log sum_j c_j d_2(h||h_j).

        Choice: the logarithm of 1 + the constraint falls when the constraint falls, and its gradient does not
        explode where d_2 is 1e7.
        """
        used = coefficients > 0
        return torch.logsumexp(torch.log(coefficients[used]) + self.log_means[used], dim=0)

    def state(self) -> State:
        return State()

    def restore(self, state: State) -> None:
        """Nothing to put back."""


class VariationalGauge:
    """One discriminator T a logger, which ascends F at each look (Algorithm 2, step 5).

    Deviation: T ascends on the policy's whole labels, y_l > 1/2 of the relaxed sample, and the policy
    descends through the relaxed ones. Trained on relaxed labels, T would only tell fractions from whole
    numbers, and F would estimate no divergence between h and h_j.
    """

    def __init__(self, scene: Scene, features: int, labels: int, settings: LearnerSettings) -> None:
        self.scene, self.tau = scene, settings.tau
        self.discriminators = [
            Discriminator(features, labels, settings.discriminator_size, scene.generator)
            for _ in range(scene.gauged)
        ]
        self.optimisers = [
            torch.optim.Adam(t.parameters(), lr=settings.discriminator_rate) for t in self.discriminators
        ]
        self.halves: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def warm_up(self, steps: int) -> None:
        """An untrained T reports about 0 and would pass any threshold."""
        for _ in range(steps):
            self.look()

    def look(self) -> Tensor:
        """F of each T on fresh samples, taken before T's step on them: (J,)."""
        self.halves = [self._draw(j) for j in range(self.scene.gauged)]
        values = []
        for (x, y, x_real, y_real), t, optimiser in zip(
            self.halves, self.discriminators, self.optimisers, strict=True
        ):
            t.train()
            value = variational_objective(t, x, (y.detach() > 0.5).to(y.dtype), x_real, y_real)
            optimiser.zero_grad()
            (-value).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            values.append(value.detach())
        return torch.stack(values)

    def objective(self, coefficients: Tensor) -> Tensor:
        """sum_j c_j F(theta, w^j) (Algorithm 2, step 4)."""
        pairs = zip(self.discriminators, self.halves, strict=True)
        return coefficients @ torch.stack([variational_objective(t, *half) for t, half in pairs])

    def _draw(self, j: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Algorithm 2, steps 2 and 3: contexts and relaxed actions of the policy, then the logger's own."""
        contexts = self.scene.contexts(j)
        y = relaxed_sample(self.scene.logits(contexts), self.tau, self.scene.generator)
        x_real, y_real = self.scene.real(j)
        return self.scene.x[contexts], y, x_real, y_real

    def state(self) -> State:
        state = State()
        for j, (t, optimiser) in enumerate(zip(self.discriminators, self.optimisers, strict=True)):
            state |= module_state(t).under(f"discriminator/{j}")
            state |= optimiser_state(optimiser).under(f"optimiser/{j}")
        return state

    def restore(self, state: State) -> None:
        for j, (t, optimiser) in enumerate(zip(self.discriminators, self.optimisers, strict=True)):
            t.load_state_dict(state.below(f"discriminator/{j}").tensors)
            restore_optimiser(optimiser, state.below(f"optimiser/{j}"))


def float_logits(logger_logits: Sequence[Matrix]) -> tuple[Tensor, ...]:
    """The loggers' logits as the network reads and writes numbers."""
    return tuple(torch.from_numpy(table.astype(np.float32)) for table in logger_logits)


def check_loggers_known(logger_logits: Sequence[object], why: str) -> None:
    if not logger_logits:
        raise BadInput(
            f"{why} needs the loggers' own policies, got a log without logger_logits; give their logits on "
            "all contexts, or use naive-reg or weighted-reg with the variational divergence"
        )
