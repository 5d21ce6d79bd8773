"""The divergence estimator that knows the loggers: d_2 in closed form."""

import math

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.reg.divergence_estimator import Samples
from multilogger.components.learners.training.state import State

LARGEST_LOG = 80.0  # exp beyond it leaves float32


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
