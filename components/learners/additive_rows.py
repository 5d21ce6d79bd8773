"""What the additive loss model is fitted to: training rows in memory, gathered by context.

`context_moments.py` has the same of a log on disk.
Of row i, z = 1 - 2 y and t = delta - |y|; the model q(x, y) = |y| + z'p(x) leaves the residual t - z'p.
"""

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.learners.padded_groups import PaddedGroups
from multilogger.components.logged_batch import Loggers
from multilogger.components.policies import Actions, Vector

LEAST_SPREAD = 0.01  # added to p (1 - p), which is 0 for a label that the network is sure of


class LossRows(Protocol):
    """What the model is fitted to: context (n,), action (n, q), loss (n,), logger (n,), and n_j (J,)."""

    @property
    def context(self) -> NDArray[np.int64]: ...

    @property
    def action(self) -> Actions: ...

    @property
    def delta(self) -> Vector: ...

    @property
    def logger(self) -> Loggers: ...

    @property
    def counts(self) -> Vector: ...


class AdditiveRows(Protocol):
    """Groups of rows, each of one `context` (g,); `loggers` of them logged the rows."""

    context: Tensor
    loggers: int

    def loss(self, groups: Tensor, p: Tensor, noise: Tensor) -> Tensor:
        """Has the gradient of the mean of r' Sigma^-1 r / 2 over some groups, Sigma held fixed.

        p (b, q) is the model at their contexts, with gradient; `noise` (J,) the excess of each logger.
        """

    def excess(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        """Mean over each logger's rows of r^2 - sum_l p_l (1 - p_l), the model being p (m, q): (J,).

        `among` (g,) marks the groups to look at; NaN for a logger that has no row there.
        """


class GroupedRows:
    """Rows in memory."""

    def __init__(self, part: LossRows) -> None:
        self.rows, self.loggers = PaddedGroups.of(part.context), len(part.counts)
        action = torch.from_numpy(part.action.astype(np.float32))
        self.signs = self.rows.gather(1.0 - 2.0 * action)
        self.target = self.rows.gather(torch.from_numpy(part.delta.astype(np.float32)) - action.sum(dim=1))
        self.logger = self.rows.gather(torch.from_numpy(part.logger))
        self.context = self.rows.context

    def loss(self, groups: Tensor, p: Tensor, noise: Tensor) -> Tensor:
        signs, present = self.signs[groups], self.rows.present[groups]
        residual = self.target[groups] - torch.einsum("gkq,gq->gk", signs, p)
        with torch.no_grad():
            own = noise[self.logger[groups]] * present + (1.0 - present)
            pull = whitened_residuals(residual, signs, p * (1.0 - p) + LEAST_SPREAD, own)
        # With Sigma held fixed, r'Sigma^-1 r / 2 and (Sigma^-1 r)'r have the same gradient.
        return (pull * residual).sum() / len(groups)

    def excess(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        here = p[self.context]
        residual = self.target - torch.einsum("gkq,gq->gk", self.signs, here)
        excess = residual.square() - (here * (1.0 - here)).sum(dim=1, keepdim=True)
        present = self.rows.present > 0
        if among is not None:
            present = present & among[:, None]
        return torch.stack([excess[present & (self.logger == j)].mean() for j in range(self.loggers)])


def whitened_residuals(residual: Tensor, signs: Tensor, spread: Tensor, noise: Tensor) -> Tensor:
    """Sigma^-1 r of each group of rows, r (g, k): (g, k).

    Rows of one context share its true labels, so their residuals z'(t - p) + noise go together:
    Sigma = Z diag(p (1 - p)) Z' + diag(noise). signs Z (g, k, q), spread p (1 - p) (g, q), noise (g, k).
    """
    covariance = torch.einsum("gkq,gq,gjq->gkj", signs, spread, signs) + torch.diag_embed(noise)
    factor = torch.linalg.cholesky(covariance)
    return torch.cholesky_solve(residual.unsqueeze(2), factor).squeeze(2)
