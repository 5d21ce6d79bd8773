"""The WCRM objective and its gradient at a linear policy, and POEM's own cut of the weights."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import TorchSpace
from multilogger.components.estimators.lambda_star import LoggerStats
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.log.disk import LearnerLog, PolicyTable, StreamedLog
from multilogger.components.log.memory import SideRows

STEP = 0.01
"""Logarithms are counted in steps of one hundredth, so that a log on disk needs one pass and no memory."""


def propensity_ratio(log_propensities: Iterable[Vector]) -> float:
    """The 90 % quantile of logged propensities over their 10 % quantile, to 1 %; never below 1."""
    counts: Counter[int] = Counter()
    for values in log_propensities:
        steps, rows = np.unique(np.rint(values / STEP).astype(np.int64), return_counts=True)
        counts.update(dict(zip(steps.tolist(), rows.tolist(), strict=True)))
    steps = np.array(sorted(counts))
    shares = np.cumsum([counts[step] for step in steps.tolist()]) / counts.total()
    low, high = (float(steps[np.searchsorted(shares, share)]) for share in (0.1, 0.9))
    return float(np.exp(STEP * (high - low)))


@dataclass(frozen=True)
class GridPoint:
    """The hyper-parameters of one fit."""

    clip: float
    variance: float
    l2: float


class ValueAndGradient(NamedTuple):
    """The objective and its gradient (d + 1, q)."""

    value: float
    gradient: Matrix


class WCRMObjective(Protocol):
    """At weights (d + 1, q), the last row those of the constant; `factors` (J,) are n lambda*_j.

    What is penalised is the distance from `start` W_0 (d + 1, q), the constant's row left out.
    """

    def __call__(self, weights: Matrix, factors: Vector, point: GridPoint) -> ValueAndGradient: ...


class MemoryObjective:
    """On rows in memory, by automatic differentiation; `wide` (m, d + 1) are contexts with a column of 1."""

    def __init__(self, space: TorchSpace, wide: Tensor, part: SideRows, shift: float, start: Matrix) -> None:
        self.space = space
        self.wide, self.logger, self.start = wide, part.logger, torch.from_numpy(start)
        self.context = torch.from_numpy(part.context)
        self.action = space.actions(part.action)
        self.log_propensity = torch.from_numpy(part.log_propensity)
        self.losses = torch.from_numpy(part.delta - shift)

    def __call__(self, weights: Matrix, factors: Vector, point: GridPoint) -> ValueAndGradient:
        variable = torch.from_numpy(weights.copy()).requires_grad_()
        value = self.value(variable, torch.from_numpy(factors[self.logger]), point)
        (gradient,) = torch.autograd.grad(value, variable)
        return ValueAndGradient(float(value.detach()), gradient.numpy())

    def value(self, weights: Tensor, coefficients: Tensor, point: GridPoint) -> Tensor:
        """The objective, with coefficients n lambda*_j of each row (n,)."""
        log_target = self.space.log_probability_of_rows(self.wide @ weights, self.context, self.action)
        log_ratio = log_target - self.log_propensity
        u = torch.exp(log_ratio.clamp_max(math.log(point.clip))) * self.losses
        terms = coefficients * u
        # Deviation: the printed variance is of lambda*_j n_j u_i, whose mean is not the risk when the n_j
        # differ; n lambda*_j u_i has the risk as its mean. For two equal loggers it is twice the printed one.
        value = terms.mean() + point.l2 * (weights - self.start)[:-1].square().sum()
        if point.variance > 0:
            value = value + point.variance * torch.sqrt(terms.var() / len(terms))
        return value


class StreamedObjective:
    """The same from one pass over a log on disk.

    With t_i = n lambda*_j u_i, its mean t and its sample variance s2, the slope of the objective in t_i is
    1/n + v (t_i - t) / ((n - 1) sqrt(n s2)), and that of t_i in the logits of its context is t_i (y_i - p),
    or 0 where the weight is cut. So the sums of t_i (y_i - p) and t_i^2 (y_i - p) at each context suffice.
    """

    def __init__(self, wide: Tensor, log: StreamedLog, shift: float, start: Matrix) -> None:
        self.wide, self.log, self.shift, self.start = wide.numpy(), log, shift, start

    def __call__(self, weights: Matrix, factors: Vector, point: GridPoint) -> ValueAndGradient:
        logits = self.wide @ weights
        policy, chances = PolicyTable.of(self.log.space, logits), self.log.space.probabilities(logits)
        terms = LoggerStats()
        once, twice = torch.zeros(logits.shape).double(), torch.zeros(logits.shape).double()
        for chunk in self.log.chunks(validation=False):
            target, losses = chunk.under(policy).log_target, chunk.delta - self.shift
            cut = importance_weights(target, chunk.log_propensity, point.clip) * factors[chunk.logger]
            terms = terms.update(cut, losses)
            moving = cut * losses * (target - chunk.log_propensity <= math.log(point.clip))
            score = self.log.space.log_probability_slope(chances[chunk.context], chunk.action)
            slope = torch.from_numpy(moving[:, None] * score)
            context = torch.from_numpy(chunk.context)
            once.index_add_(0, context, slope)
            twice.index_add_(0, context, slope * torch.from_numpy(moving)[:, None])
        return self._joined(weights, terms, once.numpy(), twice.numpy(), point)

    def _joined(
        self, weights: Matrix, terms: LoggerStats, once: Matrix, twice: Matrix, point: GridPoint
    ) -> ValueAndGradient:
        count, moved = terms.count, weights - self.start
        moved[-1] = 0.0
        value = terms.mean_u + point.l2 * float(np.square(moved).sum())
        slope = once / count
        if point.variance > 0:
            spread = math.sqrt(terms.squares / (count - 1) / count)
            value += point.variance * spread
            slope = slope + (twice - terms.mean_u * once) * (point.variance / (spread * count * (count - 1)))
        return ValueAndGradient(value, self.wide.T @ slope + 2.0 * point.l2 * moved)


def open_objective(log: LearnerLog, wide: Tensor, shift: float, start: Matrix) -> WCRMObjective:
    """The objective, of contexts with a column of 1 (m, d + 1) and W_0 (d + 1, q)."""
    if isinstance(log, StreamedLog):
        return StreamedObjective(wide, log, shift, start)
    return MemoryObjective(log.space.torch, wide, log.part(validation=False), shift, start)
