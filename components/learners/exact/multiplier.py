"""The least constraint value there is, and the dual variable of a constraint counted from it.

sum_j c_j d_2(h||h_j) is 1 only where all loggers agree. Between a sharp and a nearly uniform logger every
policy is far from one of the two, and a bound below the least value holds for no policy at all: a multiplier
that is to enforce it only grows, and runs with any such bound are one and the same.

L(theta, mu) = R + [ max(0, mu + r g)^2 - mu^2 ] / (2 r),  and after each round  mu <- max(0, mu + r g).

The gradient of L is that of R + max(0, mu + r g) g with the factor held. It is no fixed penalty: mu moves
until g is 0, or stays at 0 where the constraint never binds, and leaves R alone.
"""

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from multilogger.components.actions.space import KnownLoggers

POINTS = 24  # policies between the loggers, in all
SAME_ORDER = 4  # loggers whose terms torch adds up in one order, whichever axis lies together


@dataclass(frozen=True)
class Candidates:
    """log d_2(h||h_j; x) of the loggers and of policies between any two of them: (candidates, m, J)."""

    log_moments: Tensor

    @classmethod
    def of(cls, loggers: KnownLoggers, judged: KnownLoggers) -> "Candidates":
        """The loggers themselves, and the geometric means h ~ h_i^(1-t) h_k^t of each pair, t evenly spaced.

        Loggers that are one policy at several alphas have no policy nearer to both than these. `judged` are
        those that the divergence is from: the loggers, or h_avg.
        """
        own = [loggers.logits_of(j) for j in range(loggers.count)]
        pairs = list(itertools.combinations(own, 2))
        inner = max(1, POINTS // len(pairs)) if pairs else 0
        steps = [(k + 1) / (inner + 1) for k in range(inner)]
        between = [torch.lerp(one, other, t) for one, other in pairs for t in steps]
        found = [judged.log_d2(logits) for logits in own + between]
        if judged.count > SAME_ORDER:
            return cls(torch.stack(found))
        return cls(torch.stack(found).movedim(-1, 0).contiguous().movedim(0, -1))

    def log_least(self, log_shares: Tensor, average: bool) -> float:
        """log of the mean over contexts of the least sum_j c_j d_2(h||h_j; x), at most 0 for one logger.

        For h_avg, of the least harmonic bound 1 / sum_j (n_j/n) / d_2(h||h_j; x). `log_shares` (J,) are
        log c_j or log n_j/n. Some table of policies attains it, so that no bound above it is empty.
        """
        least = log_terms(self.log_moments, log_shares.to(self.log_moments.dtype), average).amin(dim=0)
        return float(torch.logsumexp(least, dim=0)) - math.log(len(least))


def log_terms(log_moments: Tensor, log_shares: Tensor, average: bool) -> Tensor:
    """log sum_j c_j d_2(h||h_j; x) from log d_2 (..., J), or of the harmonic bound for h_avg: (...)."""
    if average:
        return -torch.logsumexp(log_shares - log_moments, dim=-1)
    return torch.logsumexp(log_shares + log_moments, dim=-1)


LARGEST_EXCESS = 1.0  # g counts as no more: a start far outside must not wind the multiplier up


class Factors(NamedTuple):
    """What the gradients of the risk and of the excess are multiplied by."""

    risk: Tensor
    excess: Tensor


@dataclass(frozen=True)
class Multiplier:
    """mu >= 0 and the rate r at which it moves."""

    value: float
    rate: float

    def after(self, excess: float) -> "Multiplier":
        """The multiplier after a round that ended at g = `excess`."""
        step = max(-LARGEST_EXCESS, min(LARGEST_EXCESS, excess))
        return Multiplier(max(0.0, self.value + self.rate * step), self.rate)

    def pull(self, excess: Tensor) -> Tensor:
        """max(0, mu + r g), the factor of the gradient of g in that of L; far outside it is bounded."""
        return (self.value + self.rate * excess.clamp_max(LARGEST_EXCESS)).clamp_min(0.0)

    def factors(self, excess: Tensor) -> Factors:
        """Those of the gradients of R and g in that of L / (1 + pull), a mean of the two.

        Choice: the direction is that of L. Undivided, the large gradients of a policy far outside would stay
        in Adam's second moment and slow all that follows.
        """
        pull = self.pull(excess)
        risk = 1.0 / (1.0 + pull)
        return Factors(risk, risk * pull)
