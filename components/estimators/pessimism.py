"""Intervals of a risk that hold for a log of any length and weights of any size, from smoothed estimates.

With L the largest loss, rewards 1 - delta/L have a lower bound, which is an upper bound of the risk; losses
delta/L have one, too. Each end fails with half the chance of the whole. Both come from sums that add up.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.smoothing import (
    Groups,
    SmoothedSums,
    Whole,
    implicit_weights,
    ls_sums,
    ls_values,
    mixed_lower_bound,
    smoothings,
    usual_smoothing,
)
from multilogger.components.estimators.weights import importance_weights


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

    They may be a part of a `whole` log, with all rows of their contexts.
    """

    log_target: Vector
    delta: Vector
    groups: Groups
    max_loss: float

    @classmethod
    def of(
        cls, log_target: Vector, delta: Vector, context: NDArray[np.int64], max_loss: float, whole: Whole
    ) -> "SmoothedRows":
        return cls(log_target, delta, replace(Groups.of(context), part_of=whole), max_loss)

    def sides(self, name: str, log_propensity: Vector) -> tuple[SmoothedSides, ...]:
        """`NAME-ls` and `NAME-ix`, from log h_j or log h_avg of the rows (n,)."""
        losses = np.clip(self.delta / self.max_loss, 0.0, 1.0)  # rounding may leave one a hair outside
        rewards, whole = 1.0 - losses, self.groups.whole
        weights = importance_weights(self.log_target, log_propensity)
        reward, loss = (ls_values(weights, side, self.groups) for side in (rewards, losses))

        def logarithmic(smoothing: float) -> Sides:
            return Sides(ls_sums(reward, smoothing), ls_sums(loss, smoothing))

        def implicit(smoothing: float) -> Sides:
            gamma = 0.5 / smoothing
            soft = implicit_weights(self.log_target, log_propensity, gamma)
            rate, values = 2.0 * gamma / whole.most, self.groups.values
            found = [values(soft * side) for side in (rewards, losses)]
            return Sides(*(SmoothedSums(rate, len(one), float(one.sum())) for one in found))

        usual, every = usual_smoothing(whole.contexts), smoothings(whole.contexts).tolist()
        return tuple(
            SmoothedSides(f"{name}-{kind}", sums(usual), tuple(sums(m) for m in every))
            for kind, sums in (("ls", logarithmic), ("ix", implicit))
        )
