"""A policy against the loggers themselves, by the same rows: what each of them cost when it acted.

The loggers' means need no weights. Differences are resampled with the policy's estimate, so that what both
owe to the same contexts cancels. Where nearly all rows have the same loss and few events are left, a
bootstrap is too sure (`rare_events`): the policy's interval and the loggers' are then widened, and a
difference has at least the interval that follows from both (Zou and Donner, Statistics in Medicine 2008):
with d = a - b,

    low  = d - sqrt((a - a_low)^2 + (b_high - b)^2)
    high = d + sqrt((a_high - a)^2 + (b - b_low)^2)
"""

import math
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.context_sums import ScoredLog, Summed, Sums, context_sums, total_sums
from multilogger.components.evaluation.intervals import Interval, resample
from multilogger.components.evaluation.point_estimates import Estimators, estimates
from multilogger.components.evaluation.rare_events import (
    RareEvents,
    events_of_rows,
    rare_among,
    weigh_events,
    widened_interval,
)

HEADLINE = "balanced-sn"
"""Choice: the estimate that compares policies is fixed beforehand; the same one chooses epochs."""


@dataclass(frozen=True)
class Figure:
    """An estimate and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class AgainstLoggers:
    """The policy's risk, each logger's mean loss, and the policy's risk minus each of those.

    `best` is the logger that seemed best on other rows.
    """

    policy: Figure
    loggers: tuple[Figure, ...]
    best: int
    differences: tuple[Figure, ...]


class _Compared(Estimators):
    """Risks by name; `Summed.Q` has the loss of the row itself."""

    def __call__(self, sums: Sums) -> dict[str, Vector]:
        policy = estimates(sums, self.counts, self.balanced, dr=False)[HEADLINE]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums[..., Summed.Q] / sums[..., Summed.ROWS]
        found = {str(j): means[..., j] for j in range(len(self.counts))}
        less = {f"minus {j}": policy - mean for j, mean in found.items()}
        return found | less | {"policy": policy}


def against_loggers(
    log: ScoredLog, best: int, replicates: int, level: float, rng: np.random.Generator
) -> AgainstLoggers:
    """Compare by a log that neither the policy nor the choice of the logger `best` has seen."""
    if log.log_average is None:
        raise BadInput("a comparison with loggers needs the propensities under every logger; complete them")
    strata = context_sums(log, np.inf, ModelledLoss(np.zeros(log.rows), log.delta))
    compared = _Compared(log.counts, balanced=True, dr=False)
    points = compared(total_sums(strata, log.loggers))
    drawn = resample(strata, compared, replicates, level, rng)

    def figure(name: str) -> Figure:
        ends: Interval = drawn[name].bca
        return Figure(float(points[name]), ends.low, ends.high)

    loggers = tuple(figure(str(j)) for j in range(log.loggers))
    differences = tuple(figure(f"minus {j}") for j in range(log.loggers))
    found = AgainstLoggers(figure("policy"), loggers, best, differences)
    events = rare_among(log.delta, log.max_loss)
    return found if events is None else _honest(found, log, events, level)


def _honest(found: AgainstLoggers, log: ScoredLog, events: RareEvents, level: float) -> AgainstLoggers:
    """The same with intervals as wide as few events allow."""

    def widen(figure: Figure, weights: Vector) -> Figure:
        sums = events_of_rows(weights, log.delta, log.context, events, log.max_loss)
        if not sums.weights > 0:
            return figure
        known = Interval(figure.low, figure.high)
        ends = widened_interval(figure.value, known, events, weigh_events(sums, level), log.max_loss)
        return Figure(figure.value, ends.low, ends.high)

    weights = log.average_weights
    policy = found.policy if weights is None else widen(found.policy, weights)
    loggers = tuple(widen(one, (log.logger == j).astype(np.float64)) for j, one in enumerate(found.loggers))
    changed = [
        policy != found.policy or one != before for one, before in zip(loggers, found.loggers, strict=True)
    ]
    differences = tuple(
        _apart(policy, one, difference) if wider else difference
        for one, difference, wider in zip(loggers, found.differences, changed, strict=True)
    )
    return AgainstLoggers(policy, loggers, found.best, differences)


def _apart(policy: Figure, logger: Figure, drawn: Figure) -> Figure:
    """The difference of two figures, with an interval no narrower than the one that was drawn."""
    below = math.hypot(policy.value - policy.low, logger.high - logger.value)
    above = math.hypot(policy.high - policy.value, logger.value - logger.low)
    return Figure(drawn.value, min(drawn.low, drawn.value - below), max(drawn.high, drawn.value + above))
