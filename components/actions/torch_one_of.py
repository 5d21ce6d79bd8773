"""The policies of `one_of.py` in torch: the same quantities, differentiable in the logits.

h(y|x) = exp(z_y) / sum_a exp(z_a). Logits are (n, K), actions numbers (n,); a network reads an action as K
numbers, 1 at its place and 0 elsewhere. Sampling draws from the generator that is passed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.one_of import BLOCK_NUMBERS, LEAST_CHANCE, largest_gap
from multilogger.components.errors import BadInput


def log_probability(logits: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of each row: (n,)."""
    return log_softmax(logits, dim=-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)


def log_probability_at(logits: Tensor, context: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of rows that share contexts, from logits (m, K) and the context (n,) of each row: (n,)."""
    # One number is picked per row; rows of all K actions are never made.
    places = context * logits.shape[1] + y
    return log_softmax(logits, dim=1).flatten().index_select(0, places)


def log_probability_grouped(logits: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of k actions (g, k) at each context, from logits (g, K): (g, k)."""
    return log_softmax(logits, dim=1).gather(1, y)


def sharpened(p: Tensor, sharpness: Tensor) -> Tensor:
    """The logits of h ~ p^sharpness for non-negative p (n, K), none surer than 1 - 1e-6: (n, K)."""
    return bounded(sharpness * torch.log(p.clamp_min(LEAST_CHANCE)))


def bounded(logits: Tensor) -> Tensor:
    """Logits of a policy no action of which is surer than 1 - 1e-6, the largest of each row being 0."""
    return (logits - logits.amax(dim=1, keepdim=True)).clamp_min(-largest_gap(logits.shape[1]))


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """y ~ h(.|x), with no gradient: (n,)."""
    return relaxed_logits(logits.detach(), 1.0, generator).argmax(dim=1)


def relaxed_sample(logits: Tensor, tau: float, generator: torch.Generator) -> Tensor:
    """A differentiable stand-in for y ~ h(.|x), the Gumbel-softmax sample of section 4.2: (n, K).

    y_a = exp((log h_a + g_a) / tau) / sum_b exp((log h_b + g_b) / tau),  g_a ~ Gumbel(0, 1).

    For every tau the largest y_a is that of action a with probability h_a exactly; as tau falls y tends to a
    whole action.
    """
    if not tau > 0:
        raise BadInput(f"the temperature tau must be above 0, got {tau}; the paper tries 0.5 to 5")
    return torch.softmax(relaxed_logits(logits, tau, generator), dim=1)


def relaxed_logits(logits: Tensor, tau: float, generator: torch.Generator) -> Tensor:
    """(log h_a + g_a) / tau, but for a number per row, which a softmax does not see: (n, K)."""
    u = torch.rand(logits.shape, generator=generator, dtype=logits.dtype, device=logits.device)
    # A uniform number may be exactly 0, and -log of one near 1 too.
    tiny = torch.finfo(logits.dtype).tiny
    gumbel = -torch.log((-torch.log(u.clamp_min(tiny))).clamp_min(tiny))
    return (logits + gumbel) / tau


def log_d2(logits: Tensor, logger_logits: Tensor) -> Tensor:
    """log d_2(h||h_j) = log sum_a h(a|x)^2 / h_j(a|x) of each row: (n,)."""
    if logits.shape != logger_logits.shape:
        raise BadInput(
            "both arguments must have the same rows and actions, got "
            f"{tuple(logits.shape)} and {tuple(logger_logits.shape)}; were they made from the same contexts?"
        )
    return torch.logsumexp(2.0 * log_softmax(logits, dim=1) - log_softmax(logger_logits, dim=1), dim=1)


@dataclass(frozen=True)
class KnownChoosers:
    """Loggers whose policies are known, one table of logits (m, K) each; no table of all of them is made."""

    tables: tuple[Tensor, ...]

    @classmethod
    def of(cls, tables: Sequence[Matrix]) -> "KnownChoosers":
        return cls(tuple(torch.from_numpy(table) for table in tables))

    @property
    def count(self) -> int:
        return len(self.tables)

    def logits_of(self, logger: int) -> Tensor:
        return self.tables[logger]

    def at(self, contexts: Tensor) -> "KnownChoosers":
        return KnownChoosers(tuple(table.index_select(0, contexts) for table in self.tables))

    def to(self, kind: torch.dtype) -> "KnownChoosers":
        return KnownChoosers(tuple(table.to(kind) for table in self.tables))

    def log_d2(self, logits: Tensor) -> Tensor:
        """log d_2(h||h_j) of each row for all loggers: (n, J), some rows at a time."""
        rows = max(1, BLOCK_NUMBERS // logits.shape[1])
        blocks = [slice(start, start + rows) for start in range(0, len(logits), rows)]
        columns = [
            torch.cat([log_d2(logits[block], table[block]) for block in blocks]) for table in self.tables
        ]
        return torch.stack(columns, dim=1)


@dataclass(frozen=True)
class TorchOneOf:
    """What learners ask of the space of choices of one of `size` actions."""

    size: int

    log_probability = staticmethod(log_probability)
    log_probability_at = staticmethod(log_probability_at)
    log_probability_of_rows = staticmethod(log_probability_at)
    log_probability_grouped = staticmethod(log_probability_grouped)
    sharpened = staticmethod(sharpened)
    bounded = staticmethod(bounded)
    cross_entropy = staticmethod(cross_entropy)
    sample = staticmethod(sample)
    relaxed_sample = staticmethod(relaxed_sample)
    log_d2 = staticmethod(log_d2)
    known_loggers = staticmethod(KnownChoosers.of)

    def actions(self, action: Actions) -> Tensor:
        """Numbers of actions (n,)."""
        return torch.from_numpy(action.astype("int64"))

    def encoded(self, action: Tensor) -> Tensor:
        """1 at the place of the action and 0 elsewhere: (..., K)."""
        return one_hot(action, self.size).float()

    def probabilities(self, logits: Tensor) -> Tensor:
        """h(a|x) of every action: (n, K)."""
        return torch.softmax(logits, dim=1)

    def whole(self, relaxed: Tensor) -> Tensor:
        """The encoded actions that relaxed ones (..., K) stand for, with no gradient."""
        return self.encoded(relaxed.detach().argmax(dim=-1))
