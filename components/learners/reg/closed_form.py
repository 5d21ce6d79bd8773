"""The gauge that knows the loggers: d_2 in closed form."""

import math

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.reg.divergence_estimator import Scene
from multilogger.components.learners.training.state import State

LARGEST_LOG = 80.0  # exp beyond it leaves float32


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
        logits = scene.logits(scene.at(contexts))
        moments = torch.stack([scene.space.log_d2(logits, table[contexts]) for table in scene.logger_logits])
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

    def step(self) -> None:
        """Nothing to train."""

    def state(self) -> State:
        return State()

    def restore(self, state: State) -> None:
        """Nothing to put back."""
