"""Intervals of a risk that hold for a log of any length and weights of any size, from smoothed estimates.

With L the largest loss, rewards 1 - delta/L have a lower bound, which is an upper bound of the risk; losses
delta/L have one, too. Each end fails with half the chance of the whole.
"""

from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.smoothing import (
    Groups,
    ix_lower_bound,
    ix_sums,
    ls_lower_bound,
    ls_sums,
    ls_values,
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


@dataclass(frozen=True)
class SmoothedRows:
    """Rows under a policy: log h and loss in [0, `max_loss`] of each, (n,), and which share a context."""

    log_target: Vector
    delta: Vector
    groups: Groups
    max_loss: float

    def risks(self, name: str, log_propensity: Vector, level: float) -> tuple[SmoothedRisk, ...]:
        """`NAME-ls` and `NAME-ix`, from log h_j or log h_avg of the rows (n,)."""
        losses = np.clip(self.delta / self.max_loss, 0.0, 1.0)  # rounding may leave one a hair outside
        eta, usual = 0.5 * (1.0 - level), usual_smoothing(len(self.groups.rows))
        logs, weights = (self.log_target, log_propensity), importance_weights(self.log_target, log_propensity)

        def logarithmic(rewards: Vector) -> tuple[float, float]:
            value = ls_sums(ls_values(weights, rewards, self.groups), usual).value
            return value, ls_lower_bound(weights, rewards, eta, groups=self.groups)

        def implicit(rewards: Vector) -> tuple[float, float]:
            value = ix_sums(*logs, rewards, 0.5 / usual, self.groups).value
            return value, ix_lower_bound(*logs, rewards, eta, groups=self.groups)

        found = []
        for kind, smooth in (("ls", logarithmic), ("ix", implicit)):
            value, least = smooth(1.0 - losses)
            low, high = smooth(losses)[1], 1.0 - min(1.0, least)
            ends = self.max_loss * min(1.0, low), self.max_loss * high
            found.append(SmoothedRisk(f"{name}-{kind}", self.max_loss * (1.0 - value), *ends))
        return tuple(found)
