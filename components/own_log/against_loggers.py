"""A policy against the loggers themselves, by the same rows: what each of them cost when it acted.

The loggers' means need no weights. Differences are resampled with the policy's estimate, so that what both
owe to the same contexts cancels.
"""

from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.context_sums import ScoredLog, Summed, Sums, context_sums, total_sums
from multilogger.components.evaluation.intervals import Interval, resample
from multilogger.components.evaluation.points import Estimators, estimates

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
    return AgainstLoggers(figure("policy"), loggers, best, differences)
