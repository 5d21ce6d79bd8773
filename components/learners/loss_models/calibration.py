"""A test of the loss model of one-of-K actions: are actions right as often as it says?

With p the chance of a logged action to be right, by the member that has not seen its context, and
r = 1 - delta, E[r - p | p] is 0 where the model is calibrated. The scores r - p and (r - p) logit(p) are
summed up: the first finds a model that is too hopeful or not hopeful enough, the second one that is too sure
or not sure enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit, logit

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.learners.loss_models.form import LEAST_CHANCE
from multilogger.components.log.memory import TrainingLog

BINS = 10
REJECT_BELOW = 0.01
# Choice: with many rows a test finds any difference. One that moves no chance by a tenth of itself is not
# worth a warning.
WORTH_SAYING = 0.1
NEWTON_STEPS = 25
REMEDY = {
    "dm": "'dm' may be biased here, use 'dr'",
    "dr": "'dr' corrects it where the loggers took an action, and is noisy for it",
}


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of similar chances: the mean of p, the share of rows that were right, and how many there are."""

    predicted: float
    observed: float
    rows: int


@dataclass(frozen=True)
class CalibrationTest:
    """`p_value` is small where the model is off.

    logit P(right) = `intercept` + `slope` logit(p) would mend it; `largest` is the most that this moves the
    mean chance of a bin, as a share of it, or of the mean of all rows where that is more.
    """

    p_value: float
    statistic: float
    slope: float
    intercept: float
    largest: float
    bins: tuple[CalibrationBin, ...]

    @property
    def rejected(self) -> bool:
        return self.p_value < REJECT_BELOW and self.largest > WORTH_SAYING

    def complaint(self, method: str) -> str:
        """What a person should know of a model that is off, and what to do, in one line."""
        return (
            f"the loss model is off by up to {self.largest:.0%} of a chance (p = {self.p_value:.2g}, slope "
            f"{self.slope:.2f}, intercept {self.intercept:+.2f}; 1 and 0 are right): "
            f"{REMEDY.get(method, 'do not trust what it says')}"
        )


def calibration_test(log: TrainingLog, p: Matrix) -> CalibrationTest:
    """Test a model p (m, K), each row of it by who has not seen that context, on all rows of a log.

    Rows of one context share what is right there, so their scores count as one: the statistic
    u' (sum_c u_c u_c')^-1 u, u = sum_c u_c, is nearly chi-squared with two degrees of freedom.
    """
    chance = np.clip(p[log.context, log.action], LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    right = 1.0 - log.delta / log.space.largest_loss
    z = logit(chance)
    scores = (right - chance)[:, None] * np.stack([np.ones_like(z), z], axis=1)
    by_context = np.stack([np.bincount(log.context, column) for column in scores.T], axis=1)
    total, spread = by_context.sum(axis=0), by_context.T @ by_context
    statistic = float(total @ np.linalg.pinv(spread) @ total)
    intercept, slope = _recalibrated(z, right)
    bins = _bins(chance, right)
    mended = [float(expit(intercept + slope * logit(one.predicted))) for one in bins]
    said, least = [one.predicted for one in bins], float(right.mean())
    moved = [abs(new - old) / max(old, least) for new, old in zip(mended, said, strict=True)]
    return CalibrationTest(
        p_value=float(chdtrc(2, max(statistic, 0.0))),
        statistic=statistic,
        slope=slope,
        intercept=intercept,
        largest=max(moved),
        bins=bins,
    )


def _recalibrated(z: Vector, right: Vector) -> tuple[float, float]:
    """Intercept and slope of a logistic regression of being right on z, by Newton's method from (0, 1)."""
    terms = np.stack([np.ones_like(z), z], axis=1)
    found = np.array([0.0, 1.0])
    for _ in range(NEWTON_STEPS):
        fitted = expit(terms @ found)
        curvature = terms.T @ (terms * (fitted * (1.0 - fitted))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, terms.T @ (right - fitted))
        found = found + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-8:
            break
    return float(found[0]), float(found[1])


def _bins(chance: Vector, right: Vector) -> tuple[CalibrationBin, ...]:
    """Rows in ten lots of about the same size, by their chances."""
    lots: list[NDArray[np.intp]] = np.array_split(np.argsort(chance, kind="stable"), min(BINS, len(chance)))
    return tuple(
        CalibrationBin(float(chance[rows].mean()), float(right[rows].mean()), len(rows)) for rows in lots
    )
