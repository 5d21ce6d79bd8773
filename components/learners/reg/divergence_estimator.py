"""What tells the constraint how far the policy stands from its loggers (section 4.1).

A gauge looks at the policy on fresh rows, gives one estimate of D_f a logger (a single one from h_avg for
balanced methods), and then the differentiable quantity that the policy descends. `exact_gauge.py` and
`variational_gauge.py` are the two kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from multilogger.components.actions.labels import Vector
from multilogger.components.actions.space import TorchSpace
from multilogger.components.errors import BadInput
from multilogger.components.learners.reg.draws import Draws, Logged
from multilogger.components.learners.training.state import State
from multilogger.components.policies.networks import PolicyNetwork


@dataclass(frozen=True)
class Scene:
    """What every gauge looks at: the policy, its contexts (m, d), draws of rows, the loggers' logits.

    `counts` (J,) are the training rows of each logger; `average` says whether the divergence is from h_avg.
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
    def gauged(self) -> int:
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
            lots = [self.draws.logged(j, self.batch_size, self.generator) for j in range(self.gauged)]
            return Logged(
                torch.stack([lot.contexts for lot in lots]), torch.stack([lot.actions for lot in lots])
            )
        contexts = self.contexts_of_all()
        shares = torch.from_numpy(self.counts / self.counts.sum())
        chosen = torch.multinomial(shares, len(contexts), replacement=True, generator=self.generator)
        logits = torch.stack(self.logger_logits)[chosen, contexts]
        return Logged(contexts[None], self.space.sample(logits, self.generator)[None])


class Gauge(Protocol):
    """Call `look`, then `objective` for the same rows if the policy is to move, then `step`."""

    def warm_up(self, steps: int) -> None: ...

    def look(self) -> Tensor: ...

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
