"""The mini-batch risks that learners minimise (sections 2.1, 4.2 and 6), and what they go by.

All three are R_mini = sum_j n_j lambda_j (1/B) sum_i w_i l_i, with l the shifted loss; they differ in the
logger shares n_j lambda_j and in the denominator of w.

Deviation: Algorithm 1 prints n/(JB) sum_j lambda_j sum_i, which is right only when all n_j are equal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import logger_stats
from multilogger.components.estimators.lambda_star import Stats, lambda_star
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.learners.training.record import FINITE_CLIP
from multilogger.components.learners.training.settings import (
    ClipSettings,
    GuardSettings,
    LambdaSettings,
    LossShift,
    PessimismSettings,
    Settings,
    Weights,
    WeightSettings,
)


@dataclass(frozen=True)
class Rules:
    """The numbers of a method's settings, and neutral ones for what it does not have."""

    guard: GuardSettings
    pessimism: float = 0.0
    weight_clip: float = FINITE_CLIP
    loss_shift: LossShift = LossShift.NONE
    shift_share: float = 1.0
    lambda_floor: float = 0.0
    freeze_lambda: bool = False
    kappa: float = math.nan
    constraint_floor: float = 0.0


def rules_of(settings: Settings, kappa: float = math.nan, constraint_floor: float = 0.0) -> Rules:
    """Of a method; one with a constraint says its kappa and floor."""
    weights = settings if isinstance(settings, WeightSettings) else None
    lambdas = settings if isinstance(settings, LambdaSettings) else LambdaSettings()
    clip = settings.clip if isinstance(settings, ClipSettings) else FINITE_CLIP
    return Rules(
        guard=settings if isinstance(settings, GuardSettings) else GuardSettings(),
        pessimism=settings.pessimism if isinstance(settings, PessimismSettings) else 0.0,
        weight_clip=weights.weight_clip if weights else clip,
        loss_shift=weights.loss_shift if weights else LossShift.NONE,
        shift_share=weights.shift_share if weights else 1.0,
        lambda_floor=lambdas.lambda_floor,
        freeze_lambda=lambdas.freeze_lambda,
        kappa=kappa,
        constraint_floor=constraint_floor,
    )


@dataclass(frozen=True)
class Objective:
    """`average`: weights are h/h_avg, else h/h_j. `reweighted`: lambda_j = lambda*_j, else 1/n."""

    name: str
    average: bool = False
    reweighted: bool = False

    def shares(self, batch: LoggedBatch, rules: Rules) -> Vector:
        """n_j lambda_j of each logger, which sum to 1: (J,). No gradient passes through them."""
        if not self.reweighted or rules.freeze_lambda:
            return batch.counts / batch.rows
        return self.shares_from(logger_stats(batch, rules.weight_clip), rules)

    def shares_from(self, stats: Stats, rules: Rules) -> Vector:
        """The same from the statistics of rows that need not be in memory: (J,)."""
        counts = np.array([s.count for s in stats], dtype=np.float64)
        if not self.reweighted or rules.freeze_lambda:
            return np.asarray(counts / counts.sum(), dtype=np.float64)
        return floor_shares(counts * lambda_star(stats), rules.lambda_floor)


NAIVE = Objective("naive")
WEIGHTED = Objective("weighted", reweighted=True)
BALANCED = Objective("balanced", average=True)
OBJECTIVES = {objective.name: objective for objective in (NAIVE, WEIGHTED, BALANCED)}


def floor_shares(shares: Vector, floor: float) -> Vector:
    """Shares of at least `floor` each, the others scaled down to keep the sum 1: (J,).

    Deviation: lambda* can put 0.9999 on one logger at the start and lose the other for good.
    """
    if floor * len(shares) > 1:
        raise BadInput(f"lambda_floor can be at most 1/{len(shares)} for {len(shares)} loggers, got {floor}")
    low = np.zeros(len(shares), dtype=np.bool_)
    # Scaling down may push further shares under the floor, so this repeats until none is.
    while True:
        free = shares[~low].sum()
        scaled = np.where(low, floor, shares * (1.0 - floor * low.sum()) / free) if free > 0 else shares
        fresh = (scaled < floor) & ~low
        if not fresh.any():
            return np.asarray(scaled, dtype=np.float64)
        low |= fresh
        if low.all():
            return np.full(len(shares), 1.0 / len(shares))


def constraint_shares(shares: Vector, floor: float) -> Vector:
    """The n_j lambda_j that the constraint takes, each at least `floor` or, if that is less, 1/J: (J,).

    Deviation: lambda* of a policy that knows nothing lies on the nearly uniform logger alone, and the
    constraint would hold the policy there.
    """
    return floor_shares(shares, min(floor, 1.0 / len(shares))) if floor else shares


def shift_from(mean_losses: Sequence[float], largest: float, shift: LossShift) -> float:
    """What the objective subtracts from each delta, from the mean loss of each logger."""
    if shift is LossShift.NONE:
        return 0.0
    if shift is LossShift.POEM:
        return largest
    # Choice: a running shift starts here too, because a policy that knows nothing has no risk worth tracking.
    return min(mean_losses)


def minibatch_risk(
    log_target: Tensor,
    log_denominator: Tensor,
    losses: Tensor,
    shares: Tensor,
    weights: Weights,
    clip: float = math.inf,
) -> Tensor:
    """R_mini of B rows from each logger; all arguments but `shares` (J,) are (J, B).

    sum_j n_j lambda_j mean_i w_i l_i, and divided by sum_j n_j lambda_j mean_i w_i if self-normalised.
    """
    w = _cut_weights(log_target, log_denominator, weights, clip)
    value = shares @ (w * losses).mean(dim=1)
    if weights is Weights.SELF_NORMALISED:
        value = value / (shares @ w.mean(dim=1)).clamp_min(torch.finfo(w.dtype).tiny)
    return value


def row_risk(
    log_target: Tensor,
    log_denominator: Tensor,
    losses: Tensor,
    coefficients: Tensor,
    weights: Weights,
    clip: float = math.inf,
) -> Tensor:
    """sum_i a_i w_i l_i over rows of any loggers, divided by sum_i a_i w_i if self-normalised; all are (n,).

    With a_i = lambda_j over the chance of a row to be drawn, it is R_mini for rows drawn in any way.
    """
    shares = coefficients * _cut_weights(log_target, log_denominator, weights, clip)
    value = shares @ losses
    if weights is Weights.SELF_NORMALISED:
        value = value / shares.sum().clamp_min(torch.finfo(shares.dtype).tiny)
    return value


def _cut_weights(log_target: Tensor, log_denominator: Tensor, weights: Weights, clip: float) -> Tensor:
    """h over h_j or h_avg, cut at `clip` unless they are to be raw."""
    log_ratio = log_target - log_denominator
    if weights is not Weights.RAW:
        log_ratio = log_ratio.clamp_max(math.log(clip))
    return torch.exp(log_ratio)
