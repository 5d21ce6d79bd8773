"""What tells the constraint how far the policy stands from its loggers (section 4.1).

A divergence estimator takes fresh samples, gives one estimate of D_f per logger (a single one from h_avg for
balanced methods), and then the differentiable quantity that the policy descends. The one that knows the
loggers has d_2 in closed form; that of `variational.py` does not know them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.space import TorchSpace
from multilogger.components.errors import BadInput
from multilogger.components.learners.reg.draws import Draws, Logged
from multilogger.components.learners.training.state import State
from multilogger.components.policies.networks import PolicyNetwork

LARGEST_LOG = 80.0  # exp beyond it leaves float32


@dataclass(frozen=True)
class Samples:
    """Where samples come from: the policy, its contexts (m, d), draws of rows, the loggers' logits.

    `counts` (J,) are the training rows of each logger; `average` says whether the divergence is from h_avg,
    whose own table may then stand for the loggers'.
    """

    space: TorchSpace
    network: PolicyNetwork
    x: Tensor
    draws: Draws
    logger_logits: tuple[Tensor, ...]
    counts: Vector
    average: bool
    batch_size: int
    generator: torch.Generator

    @property
    def divergences(self) -> int:
        """How many divergences there are: one per logger, or the single one from h_avg."""
        return 1 if self.average else len(self.counts)

    def contexts_of_all(self) -> Tensor:
        """Contexts of B training rows of any logger: (B,)."""
        return self.draws.contexts(None, self.batch_size, self.generator)

    def at(self, contexts: Tensor) -> Tensor:
        """Features of contexts (B,): (B, d)."""
        return self.x.index_select(0, contexts)  # several times faster than indexing

    def logits(self, x: Tensor) -> Tensor:
        """The policy as it trains, with batch statistics, on contexts (B, d): (B, q)."""
        self.network.train()
        logits: Tensor = self.network(x)
        return logits

    def logged(self) -> Logged:
        """B contexts and actions of each logger as logged (J, B), or drawn from h_avg (1, B; appendix)."""
        if not self.average:
            lots = [self.draws.logged(j, self.batch_size, self.generator) for j in range(self.divergences)]
            return Logged(
                torch.stack([lot.contexts for lot in lots]), torch.stack([lot.actions for lot in lots])
            )
        contexts = self.contexts_of_all()
        shares = torch.from_numpy(self.counts / self.counts.sum())
        chosen = torch.multinomial(shares, len(contexts), replacement=True, generator=self.generator)
        logits = self.logger_logits[0].index_select(0, contexts)
        for j, table in enumerate(self.logger_logits[1:], start=1):
            logits = torch.where((chosen == j)[:, None], table.index_select(0, contexts), logits)
        return Logged(contexts[None], self.space.sample(logits, self.generator)[None])


class DivergenceEstimator(Protocol):
    """Call `estimate`, then `objective` for the same rows if the policy is to move, then `step`."""

    def warm_up(self, steps: int) -> None: ...

    def estimate(self) -> Tensor: ...

    def objective(self, coefficients: Tensor) -> Tensor: ...

    def step(self) -> None: ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


class ClosedFormEstimator:
    """d_2 in closed form on a mini-batch of contexts; for h_avg its harmonic upper bound."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.log_means = torch.zeros(samples.divergences)

    def warm_up(self, steps: int) -> None:
        """Nothing to train."""

    def estimate(self) -> Tensor:
        """D_f = d_2 - 1 of each logger on fresh contexts: (J,)."""
        samples = self.samples
        contexts = samples.contexts_of_all()
        logits = samples.logits(samples.at(contexts))
        moments = torch.stack(
            [samples.space.log_d2(logits, table[contexts]) for table in samples.logger_logits]
        )
        if samples.average:
            log_shares = torch.from_numpy(np.log(samples.counts / samples.counts.sum())).to(moments.dtype)
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

    def step(self) -> None:
        """Nothing to train."""

    def state(self) -> State:
        return State()

    def restore(self, state: State) -> None:
        """Nothing to put back."""


def check_loggers_known(logger_logits: Sequence[object], why: str) -> None:
    if not logger_logits:
        raise BadInput(
            f"{why} needs the loggers' own policies, got a log without logger_logits; give their logits on "
            "all contexts, or use naive-reg or weighted-reg with the variational divergence"
        )
