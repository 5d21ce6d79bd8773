"""The policies of `labels.py` in torch: the same quantities, differentiable in the logits.

h(y|x) = prod_l p_l(x)^y_l (1 - p_l(x))^(1 - y_l), with p_l the sigmoid of logit l. Logits are (n, q).
Sampling draws from the generator that is passed in, never from torch's global one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from multilogger.components.actions.labels import LARGEST_LOGIT, LEAST_CHANCE
from multilogger.components.errors import BadInput


def marginals(logits: Tensor) -> Tensor:
    """p_l(x), the probability of each label: (n, q)."""
    return torch.sigmoid(logits)


def logits_of(p: Tensor, least: float) -> Tensor:
    """The logits of given marginals (n, q), none taken to be nearer to 0 or 1 than `least`: (n, q)."""
    return torch.logit(p, eps=least)


def sharpened(p: Tensor, sharpness: Tensor) -> Tensor:
    """The logits of marginals p (n, q), times a sharpness, within +-14: (n, q)."""
    # A float32 probability may round to exactly 0 or 1.
    return bounded(sharpness * logits_of(p, LEAST_CHANCE))


def bounded(logits: Tensor) -> Tensor:
    """Logits of a policy no label of which is surer than 1 - 1e-6."""
    return logits.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)


def actions(action: NDArray[np.integer[Any]]) -> Tensor:
    """Label vectors (n, q) as numbers."""
    return torch.from_numpy(action.astype(np.float32))


def encoded(action: Tensor) -> Tensor:
    """Label vectors are read as they are."""
    return action


def log_probability(logits: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of each row: (n,)."""
    _check_shape(logits, y)
    signs = 2.0 * y.to(logits.dtype) - 1.0
    return logsigmoid(signs * logits).sum(dim=1)


def log_probability_at(logits: Tensor, context: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of rows that share contexts, from logits (m, q) and the context (n,) of each row: (n,).

    sum_l y_l z_l - sum_l log(1 + exp z_l); the second sum, the costly one, is taken once per context.
    """
    log_none = logsigmoid(-logits).sum(dim=1)
    # Rows of one context add up in the gradient; index_select does that several times faster than indexing.
    return (logits.index_select(0, context) * y).sum(dim=1) + log_none.index_select(0, context)


def log_probability_of_rows(logits: Tensor, context: Tensor, y: Tensor) -> Tensor:
    """The same as `log_probability_at`, label by label of each row."""
    return log_probability(logits[context], y)


def log_probability_grouped(logits: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of k actions (g, k, q) at each context, from logits (g, q): (g, k)."""
    signs = 2.0 * y.to(logits.dtype) - 1.0
    return logsigmoid(signs * logits.unsqueeze(1)).sum(dim=2)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-E log h(y|x) a label, y drawn with marginals `targets` (n, q), or actions themselves: a number."""
    return binary_cross_entropy_with_logits(logits, targets)


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """y ~ h(.|x), as numbers 0 and 1 of the logits' type, with no gradient: (n, q)."""
    return (_uniforms(logits, generator) < marginals(logits.detach())).to(logits.dtype)


def relaxed_sample(logits: Tensor, tau: float, generator: torch.Generator) -> Tensor:
    """A differentiable stand-in for y ~ h(.|x), the Gumbel-softmax sample of section 4.2: (n, q) in (0, 1).

    y_l = sigmoid((logit_l + logistic noise) / tau)

    Of two classes the softmax is a sigmoid, and the difference of two Gumbel numbers is logistic, so one
    noise a label suffices (binary concrete). For every tau, y_l > 1/2 with probability p_l exactly; as
    tau falls y_l tends to 0 or 1.
    """
    if not tau > 0:
        raise BadInput(f"the temperature tau must be above 0, got {tau}; the paper tries 0.5 to 5")
    # Uniform numbers may be exactly 0, whose logit is not finite.
    u = _uniforms(logits, generator).clamp_min(torch.finfo(logits.dtype).tiny)
    return torch.sigmoid((logits + torch.log(u) - torch.log1p(-u)) / tau)


def whole(relaxed: Tensor) -> Tensor:
    """The actions that relaxed ones stand for, whatever their temperature, with no gradient: (n, q)."""
    return (relaxed.detach() > 0.5).to(relaxed.dtype)


def expected_hamming(logits: Tensor, truth: Tensor) -> Tensor:
    """E_{y ~ h(.|x)} delta(x, y) of each row: (n,).

    sum_l p_l (1 - y*_l) + (1 - p_l) y*_l
    """
    _check_shape(logits, truth)
    p = marginals(logits)
    return torch.where(truth == 1, 1.0 - p, p).sum(dim=1)


def expected_label_sum(logits: Tensor, level: Tensor, effects: Tensor) -> Tensor:
    """E_{y ~ h(.|x)} sum_l [ level_l + y_l effect_l ] of each row: (n,)."""
    return (level + marginals(logits) * effects).sum(dim=1)


def expected_neighbours(logits: Tensor) -> Tensor:
    """E_{y ~ h(.|x)} sum_l y_l y_{l+1}, l + 1 counted in a ring, of each row: (n,)."""
    p = marginals(logits)
    return (p * p.roll(-1, dims=1)).sum(dim=1)


def log_d2(logits: Tensor, logger_logits: Tensor) -> Tensor:
    """log d_2(h||h_j) of each row in closed form: (n,).

    sum_l log [ p_l^2 / q_l + (1 - p_l)^2 / (1 - q_l) ], with p and q the marginals of h and h_j
    """
    _check_shape(logits, logger_logits)
    one = 2.0 * logsigmoid(logits) - logsigmoid(logger_logits)
    zero = 2.0 * logsigmoid(-logits) - logsigmoid(-logger_logits)
    return torch.logaddexp(one, zero).sum(dim=1)


@dataclass(frozen=True)
class KnownLabelLoggers:
    """Loggers whose policies are known: logits (m, J, q), and log of their chance of all labels (m, J)."""

    logits: Tensor
    log_all: Tensor

    @classmethod
    def of(cls, tables: Sequence[NDArray[np.float64]]) -> "KnownLabelLoggers":
        """From the logits (m, q) of each."""
        logits = torch.from_numpy(np.stack(tables, axis=1))
        return cls(logits, logsigmoid(logits).sum(dim=2))

    @property
    def count(self) -> int:
        return int(self.logits.shape[1])

    def logits_of(self, logger: int) -> Tensor:
        return self.logits[:, logger]

    def at(self, contexts: Tensor) -> "KnownLabelLoggers":
        logits, log_all = (table.index_select(0, contexts) for table in (self.logits, self.log_all))
        return KnownLabelLoggers(logits, log_all)

    def to(self, kind: torch.dtype) -> "KnownLabelLoggers":
        return KnownLabelLoggers(self.logits.to(kind), self.log_all.to(kind))

    def log_d2(self, logits: Tensor) -> Tensor:
        """log d_2(h||h_j) of each row for all loggers at once: (n, J).

        With z and s the logits of h and h_j, the two terms of `log_d2` differ by s - 2z, so that each label
        gives 2 log p - log q + log(1 + exp(s - 2z)): half of the logarithms.
        """
        log_all = logsigmoid(logits).sum(dim=1, keepdim=True)
        mixed = logsigmoid(2.0 * logits.unsqueeze(1) - self.logits).sum(dim=2)
        return 2.0 * log_all - self.log_all - mixed


@dataclass(frozen=True)
class TorchLabels:
    """What learners ask of the space of vectors of `size` labels."""

    size: int = 0

    actions = staticmethod(actions)
    encoded = staticmethod(encoded)
    log_probability = staticmethod(log_probability)
    log_probability_at = staticmethod(log_probability_at)
    log_probability_of_rows = staticmethod(log_probability_of_rows)
    log_probability_grouped = staticmethod(log_probability_grouped)
    probabilities = staticmethod(marginals)
    sharpened = staticmethod(sharpened)
    bounded = staticmethod(bounded)
    cross_entropy = staticmethod(cross_entropy)
    sample = staticmethod(sample)
    relaxed_sample = staticmethod(relaxed_sample)
    whole = staticmethod(whole)
    log_d2 = staticmethod(log_d2)
    known_loggers = staticmethod(KnownLabelLoggers.of)


def _uniforms(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device)


def _check_shape(left: Tensor, right: Tensor) -> None:
    if left.shape != right.shape:
        raise BadInput(
            "both arguments must have the same rows and labels, got "
            f"{tuple(left.shape)} and {tuple(right.shape)}; were they made from the same contexts?"
        )
