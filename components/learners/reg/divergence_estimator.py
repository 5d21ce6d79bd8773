"""What tells the constraint how far the policy stands from its loggers (section 4.1).

A divergence estimator takes fresh samples, gives one estimate of D_f per logger (a single one from h_avg for
balanced methods), and then the differentiable quantity that the policy descends. `closed_form.py` and
`variational.py` are the two kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.space import TorchSpace
from multilogger.components.errors import BadInput
from multilogger.components.learners.reg.draws import Draws, Logged
from multilogger.components.learners.training.state import State
from multilogger.components.policies.networks import PolicyNetwork


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
        """How many divergences there are: one a logger, or the single one from h_avg."""
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


def check_loggers_known(logger_logits: Sequence[object], why: str) -> None:
    if not logger_logits:
        raise BadInput(
            f"{why} needs the loggers' own policies, got a log without logger_logits; give their logits on "
            "all contexts, or use naive-reg or weighted-reg with the variational divergence"
        )
