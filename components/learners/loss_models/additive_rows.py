"""What the additive loss model is fitted to: rows in memory by context, or sums over rows on disk.

Of row i, z = 1 - 2 y and t = delta - |y|; the model q(x, y) = |y| + z'p(x) leaves the residual t - z'p.
"""

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.learners.training.row_batches import PaddedGroups
from multilogger.components.log.disk import Chunk, StreamedLog

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

    def sums(self) -> "LoggerProducts": ...


class LoggerProducts(NamedTuple):
    """Sums over the rows of each logger: of z z' (J, q, q), z t (J, q), t^2 (J,) and 1 (J,)."""

    products: Tensor
    moments: Tensor
    squares: Tensor
    counts: Tensor


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

    def sums(self) -> LoggerProducts:
        flat = self.rows.present > 0
        signs, target, logger = self.signs[flat].double(), self.target[flat].double(), self.logger[flat]
        own = [logger == j for j in range(self.loggers)]
        return LoggerProducts(
            torch.stack([signs[j].T @ signs[j] for j in own]),
            torch.stack([signs[j].T @ target[j] for j in own]),
            torch.stack([target[j].square().sum() for j in own]),
            torch.stack([j.sum() for j in own]).double(),
        )


def whitened_residuals(residual: Tensor, signs: Tensor, spread: Tensor, noise: Tensor) -> Tensor:
    """Sigma^-1 r of each group of rows, r (g, k): (g, k).

    Rows of one context share its true labels, so their residuals z'(t - p) + noise go together:
    Sigma = Z diag(p (1 - p)) Z' + diag(noise). signs Z (g, k, q), spread p (1 - p) (g, q), noise (g, k).
    """
    covariance = torch.einsum("gkq,gq,gjq->gkj", signs, spread, signs) + torch.diag_embed(noise)
    factor = torch.linalg.cholesky(covariance)
    return torch.cholesky_solve(residual.unsqueeze(2), factor).squeeze(2)


BLOCK_CONTEXTS = 4096


class ContextMoments:
    """The sums of z z', z t, t^2 and 1 over the rows of each logger at each context: all that a fit needs.

    One pass over a log on disk makes them, however many rows there are. Of z z' only the pairs of different
    labels are held, once each, in whole numbers as short as the counts allow: J m q (q - 1) / 2 bytes for m
    contexts with up to 127 rows of each logger. All rows of a context are one group, where rows in memory
    make groups of at most `MOST_ROWS`.
    """

    def __init__(self, log: StreamedLog) -> None:
        self.loggers = log.loggers
        logged = np.flatnonzero(log.train_contexts.sum(axis=0))
        self.context = torch.from_numpy(logged)
        self._place = np.zeros(log.contexts, dtype=np.int64)
        self._place[logged] = np.arange(len(logged))
        shape = (log.loggers, len(logged))
        self._first, self._second = torch.triu_indices(log.space.size, log.space.size, offset=1)
        kind = shortest_type(int(log.train_contexts.max()))
        self.pairs = torch.zeros(*shape, len(self._first), dtype=kind)
        self.moments = torch.zeros(*shape, log.space.size, dtype=torch.float64)
        self.squares = torch.zeros(shape, dtype=torch.float64)
        self.counts = torch.from_numpy(log.train_contexts[:, logged].astype(np.float64))
        for chunk in log.chunks(validation=False):
            self._add(chunk)

    def _add(self, chunk: Chunk) -> None:
        j, place = chunk.logger, torch.from_numpy(self._place[chunk.context])
        signs = torch.from_numpy(1.0 - 2.0 * chunk.action)
        target = torch.from_numpy(chunk.delta - chunk.action.sum(axis=1))
        for block in torch.split(torch.arange(len(place)), max(1, 2**20 // signs.shape[1] ** 2)):
            own = signs[block].to(self.pairs.dtype)
            self.pairs[j].index_add_(0, place[block], own[:, self._first] * own[:, self._second])
        self.moments[j].index_add_(0, place, signs * target.unsqueeze(1))
        self.squares[j].index_add_(0, place, target.square())

    def products(self, groups: Tensor) -> Tensor:
        """The sums of z z' over the rows of each logger at some groups: (J, b, q, q); z_l^2 is 1."""
        labels, pairs = self.moments.shape[2], self.pairs[:, groups].double()
        whole = torch.diag_embed(self.counts[:, groups].unsqueeze(2).expand(-1, -1, labels))
        whole[..., self._first, self._second] = pairs
        whole[..., self._second, self._first] = pairs
        return whole

    def loss(self, groups: Tensor, p: Tensor, noise: Tensor) -> Tensor:
        """By Woodbury's identity, Z'Sigma^-1 r = (1 + A D)^-1 (b - A p) with D the spread of the labels.

        A = sum_j Z_j'Z_j / noise_j and b = sum_j Z_j't_j / noise_j, so that q x q systems do for any number
        of rows. The gradient in p is minus that.
        """
        with torch.no_grad():
            weight = 1.0 / noise.double()
            a = torch.einsum("j,jgkl->gkl", weight, self.products(groups))
            b = torch.einsum("j,jgk->gk", weight, self.moments[:, groups])
            root = (p * (1.0 - p) + LEAST_SPREAD).double().sqrt()
            force = b - torch.einsum("gkl,gl->gk", a, p.double())
            system = torch.eye(p.shape[1], dtype=torch.float64) + root.unsqueeze(2) * a * root.unsqueeze(1)
            solved = torch.cholesky_solve((root * force).unsqueeze(2), torch.linalg.cholesky(system))
            pull = (solved.squeeze(2) / root).to(p.dtype)
        return -(pull * p).sum() / len(groups)

    def excess(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        here = p[self.context].double()
        counts = self.counts if among is None else self.counts * among
        spread = (counts * (here * (1.0 - here)).sum(dim=1)).sum(dim=1)
        return ((self.squared_residuals(here, among) - spread) / counts.sum(dim=1)).to(p.dtype)

    def sums(self) -> LoggerProducts:
        blocks = torch.split(torch.arange(len(self.context)), BLOCK_CONTEXTS)
        products = torch.stack([self.products(block).sum(dim=1) for block in blocks]).sum(dim=0)
        return LoggerProducts(
            products, self.moments.sum(dim=1), self.squares.sum(dim=1), self.counts.sum(dim=1)
        )

    def total_score(self, p: Matrix) -> float:
        """sum_i r_i^2 over all rows, with p (m, q) at all contexts."""
        return float(self.squared_residuals(torch.from_numpy(p)[self.context]).sum())

    def squared_residuals(self, p: Tensor, among: Tensor | None = None) -> Tensor:
        """sum_i r_i^2 of each logger, with p (g, q) at the groups' contexts in float64: (J,)."""
        kept = torch.arange(len(p)) if among is None else torch.flatten(torch.nonzero(among))
        squares = torch.zeros(self.loggers, dtype=torch.float64)
        for block in torch.split(kept, BLOCK_CONTEXTS):
            squares += self.squares[:, block].sum(dim=1)
            squares -= 2.0 * torch.einsum("jgk,gk->j", self.moments[:, block], p[block])
            squares += torch.einsum("gk,jgkl,gl->j", p[block], self.products(block), p[block])
        return squares


def shortest_type(largest: int) -> torch.dtype:
    """The whole numbers of fewest bytes that hold -largest to largest."""
    kinds = (torch.int8, torch.int16, torch.int32, torch.int64)
    return next(kind for kind in kinds if largest <= torch.iinfo(kind).max)
