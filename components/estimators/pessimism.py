"""Intervals of a risk that hold for a log of any length and weights of any size, from smoothed estimates.

With L the largest loss, rewards 1 - delta/L have a lower bound, which is an upper bound of the risk; losses
delta/L have one, too. Each end fails with half the chance of the whole. Both come from sums that add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.smoothing import (
    Groups,
    SmoothedSums,
    Whole,
    ls_sums,
    ls_values,
    mixed_lower_bound,
    smoothings,
    usual_smoothing,
)
from multilogger.components.estimators.weights import importance_weights

BLOCK = 2**14  # rows whose figures stay near the processor while all smoothings go over them


@dataclass(frozen=True)
class SmoothedRisk:
    """L (1 - smoothed reward), which is on average too high, and an interval of the risk."""

    name: str
    value: float
    low: float
    high: float


class Sides(NamedTuple):
    """Sums of rewards and of losses at one smoothing."""

    reward: SmoothedSums
    loss: SmoothedSums


@dataclass(frozen=True)
class SmoothedSides:
    """Sums of an estimate: at the usual smoothing, and at those of the mixture that bounds it."""

    name: str
    usual: Sides
    mixture: tuple[Sides, ...]

    def plus(self, other: "SmoothedSides") -> "SmoothedSides":
        """Those of two parts of a log that have no context in common."""
        mixture = tuple(_both(mine, more) for mine, more in zip(self.mixture, other.mixture, strict=True))
        return replace(self, usual=_both(self.usual, other.usual), mixture=mixture)

    def risk(self, max_loss: float, level: float) -> SmoothedRisk:
        """The estimate and its interval."""
        eta = 0.5 * (1.0 - level)
        low = mixed_lower_bound([sides.loss for sides in self.mixture], eta)
        least = mixed_lower_bound([sides.reward for sides in self.mixture], eta)
        ends = max_loss * min(1.0, low), max_loss * (1.0 - min(1.0, least))
        return SmoothedRisk(self.name, max_loss * (1.0 - self.usual.reward.value), *ends)


def _both(one: Sides, other: Sides) -> Sides:
    return Sides(one.reward + other.reward, one.loss + other.loss)


@dataclass(frozen=True)
class SmoothedRows:
    """Rows under a policy: log h and loss in [0, `max_loss`] of each, (n,), and which share a context.

    They may be a part of a `whole` log, with all rows of their contexts, which count from 0 without gaps.
    """

    log_target: Vector
    delta: Vector
    groups: Groups
    max_loss: float

    @classmethod
    def of(
        cls, log_target: Vector, delta: Vector, context: NDArray[np.int64], max_loss: float, whole: Whole
    ) -> "SmoothedRows":
        return cls(log_target, delta, Groups(context, np.bincount(context), whole), max_loss)

    def sides(self, name: str, log_propensity: Vector) -> tuple[SmoothedSides, ...]:
        """`NAME-ls` and `NAME-ix`, from log h_j or log h_avg of the rows (n,)."""
        losses = np.clip(self.delta / self.max_loss, 0.0, 1.0)  # rounding may leave one a hair outside
        rewards, whole = 1.0 - losses, self.groups.whole
        weights = importance_weights(self.log_target, log_propensity)
        reward, loss = (ls_values(weights, side, self.groups) for side in (rewards, losses))
        usual, every = usual_smoothing(whole.contexts), smoothings(whole.contexts).tolist()
        given = [usual, *every]
        logarithmic = [Sides(ls_sums(reward, m), ls_sums(loss, m)) for m in given]
        implicit = self._implicit(np.exp(log_propensity), rewards, losses, [0.5 / m for m in given])
        return tuple(
            SmoothedSides(f"{name}-{kind}", found[0], tuple(found[1:]))
            for kind, found in (("ls", logarithmic), ("ix", implicit))
        )

    def _implicit(
        self, propensity: Vector, rewards: Vector, losses: Vector, gammas: Sequence[float]
    ) -> list[Sides]:
        """Sums over contexts are sums over rows: only their number and the most rows of one matter.

        `gammas` are far above the least number there is, so h and h_0 themselves may be 0.
        """
        totals, target = np.zeros((len(gammas), 2)), np.exp(self.log_target)
        for start in range(0, len(target), BLOCK):
            rows = slice(start, start + BLOCK)
            sides = rewards[rows], losses[rows]
            for k, gamma in enumerate(gammas):
                soft = target[rows] / (propensity[rows] + gamma)
                totals[k] += [np.einsum("i,i->", soft, side) for side in sides]
        count, whole = len(self.groups.rows), self.groups.whole
        return [
            Sides(*(SmoothedSums(2.0 * gamma / whole.most, count, float(one * whole.scale)) for one in both))
            for gamma, both in zip(gammas, totals, strict=True)
        ]
