"""The objective of doubly robust learning on training rows gathered by context."""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from multilogger.components.learners.context_rows import ContextRows
from multilogger.components.learners.training_log import LogPart
from multilogger.components.policies import Matrix, Vector


class PolicyRows:
    """The training rows as the policy's objective reads them, gathered by context."""

    def __init__(self, part: LogPart, weighted: bool) -> None:
        self.groups = ContextRows.of(part.context)
        action = torch.from_numpy(part.action.astype(np.float32))
        denominator = part.log_propensity if weighted else part.log_average
        self.signs = self.groups.gather(2.0 * action - 1.0)
        self.log_denominator = self.groups.gather(torch.from_numpy(denominator.astype(np.float32)))
        self.logger = self.groups.gather(torch.from_numpy(part.logger))
        self.count = len(part.delta)
        self.residual = torch.zeros(self.count)
        self.grouped = self.groups.gather(self.residual)
        self.p = torch.zeros(0)

    def set_model(self, p: Matrix, residual: Vector) -> None:
        """The additive part p (m, q) of the model, and delta - q(x, y) of each row (n,)."""
        self.p = torch.from_numpy(p.astype(np.float32))
        self.residual = torch.from_numpy(residual.astype(np.float32))
        self.grouped = self.groups.gather(self.residual)

    def risk(
        self, groups: Tensor, logits: Tensor, effects: Tensor | None, factors: Tensor, clip: float
    ) -> Tensor:
        """R_dr of the rows of some groups; `factors` (J,): n lambda_j, `effects` (g, q): of a correction."""
        p, h = self.p[self.groups.context[groups]], torch.sigmoid(logits)
        slopes = 1.0 - 2.0 * p if effects is None else 1.0 - 2.0 * p + effects
        modelled = (p + h * slopes).sum(dim=1)
        present = self.groups.present[groups]
        log_target = logsigmoid(self.signs[groups] * logits.unsqueeze(1)).sum(dim=2)
        weights = torch.exp((log_target - self.log_denominator[groups]).clamp_max(math.log(clip)))
        corrected = factors[self.logger[groups]] * weights * self.grouped[groups] * present
        total = (modelled * present.sum(dim=1)).sum() + corrected.sum()
        return total / present.sum()
