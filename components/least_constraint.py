"""The least value that the constraint of section 4 can have, given how unlike the loggers are.

sum_j c_j d_2(h||h_j) is 1 only where all loggers agree. Between a sharp and a nearly uniform logger every
policy is far from one of the two, and a bound below the least value holds for no policy at all: a multiplier
that is to enforce it only grows, and runs with any such bound are one and the same.
"""

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from multilogger.components.torch_policies import KnownLoggers, log_d2_each

POINTS = 24  # policies between the loggers, in all


@dataclass(frozen=True)
class Candidates:
    """log d_2(h||h_j; x) of the loggers and of policies between any two of them: (candidates, m, J)."""

    log_moments: Tensor

    @classmethod
    def of(cls, loggers: KnownLoggers) -> "Candidates":
        """The loggers themselves, and the geometric means h ~ h_i^(1-t) h_k^t of each pair, t evenly spaced.

        Loggers that are one policy at several alphas have no policy nearer to both than these.
        """
        own = list(loggers.logits.unbind(dim=1))
        pairs = list(itertools.combinations(own, 2))
        inner = max(1, POINTS // len(pairs)) if pairs else 0
        steps = [(k + 1) / (inner + 1) for k in range(inner)]
        between = [torch.lerp(one, other, t) for one, other in pairs for t in steps]
        return cls(torch.stack([log_d2_each(logits, loggers) for logits in own + between]))

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
