"""What the additive loss model is fitted to of a log on disk: sums over the rows at each context.

Of row i, z = 1 - 2 y and t = delta - |y|; the model q(x, y) = |y| + z'p(x) leaves the residual t - z'p.
"""

import numpy as np
import torch
from torch import Tensor

from multilogger.components.learners.additive_rows import LEAST_SPREAD
from multilogger.components.learners.streamed_log import Chunk, StreamedLog

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
        self._first, self._second = torch.triu_indices(log.labels, log.labels, offset=1)
        kind = shortest_type(int(log.train_contexts.max()))
        self.pairs = torch.zeros(*shape, len(self._first), dtype=kind)
        self.moments = torch.zeros(*shape, log.labels, dtype=torch.float64)
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
