"""Rows of bandit logs with the log-probabilities that every estimator needs."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_losses, check_propensities, checked_log_propensity

Loggers = NDArray[np.int64]


@dataclass(frozen=True)
class LoggedBatch:
    """One row for each logged action.

    `logger` (n,) counts from 0 without gaps; `delta` (n,) is the loss in [0, `max_loss`], the paper's L;
    `log_propensity` (n,) is log h_j(y|x) under the row's own logger; `log_target` (n,) is log h(y|x);
    `log_propensities` (n, J), needed by the balanced estimator only, is log h_k(y|x) under every logger.
    """

    logger: Loggers
    delta: Vector
    log_propensity: Vector
    log_target: Vector
    max_loss: float
    log_propensities: Matrix | None = None

    def __post_init__(self) -> None:
        _check_rows(self)
        _check_max_loss(self.max_loss)
        check_losses(self.delta, self.max_loss, "the log")
        checked_log_propensity(self.log_propensity, is_log=True, where="the log")
        _check_log_target(self.log_target)
        if self.log_propensities is not None:
            _check_all_loggers(self, self.log_propensities)
        _check_loggers(self.logger, self.loggers)

    def under(self, log_target: Vector) -> "LoggedBatch":
        """The same rows, which were checked, under another policy."""
        _check_log_target(log_target)
        other = copy(self)
        object.__setattr__(other, "log_target", log_target)
        return other

    @property
    def rows(self) -> int:
        return len(self.delta)

    @property
    def loggers(self) -> int:
        """J, from the columns of `log_propensities` or else from the highest id."""
        if self.log_propensities is not None:
            return int(self.log_propensities.shape[1])
        return int(self.logger.max()) + 1

    @property
    def counts(self) -> Vector:
        """n_j, the rows of each logger: (J,)."""
        return np.bincount(self.logger, minlength=self.loggers).astype(np.float64)


def _check_rows(batch: LoggedBatch) -> None:
    columns = {
        "logger": batch.logger,
        "delta": batch.delta,
        "log_propensity": batch.log_propensity,
        "log_target": batch.log_target,
    }
    shapes = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) > 1 or batch.delta.ndim != 1:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise BadInput(f"a log needs columns of one length, got {found}; take all of them from the same rows")
    if batch.rows == 0:
        raise BadInput("a log needs at least one row, got none; check the split or the filter that made it")


def _check_max_loss(max_loss: float) -> None:
    if not (np.isfinite(max_loss) and max_loss > 0):
        raise BadInput(
            f"max_loss must be a number above 0, got {max_loss}; for Hamming loss it is the label count"
        )


class NoProbability(BadInput):
    """A policy gives what is no probability of an action."""


def _check_log_target(log_target: Vector) -> None:
    """-inf is allowed: a policy may well never take an action that a logger took."""
    bad = np.isnan(log_target) | (log_target > 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise NoProbability(
            f"log_target of row {row} is {log_target[row]:g}, not the logarithm of a probability; "
            "is the policy's output finite?"
        )


def _check_all_loggers(batch: LoggedBatch, log_propensities: Matrix) -> None:
    if log_propensities.ndim != 2 or len(log_propensities) != batch.rows:
        raise BadInput(
            f"log_propensities needs one row per logged action and one column per logger, got shape "
            f"{log_propensities.shape} for {batch.rows} rows"
        )
    loggers = log_propensities.shape[1]
    if batch.logger.min() < 0 or batch.logger.max() >= loggers:
        raise BadInput(
            f"logger ids must lie in 0..{loggers - 1}, the columns of log_propensities, "
            f"got {batch.logger.min()} to {batch.logger.max()}; number the loggers from 0"
        )
    names = [str(j) for j in range(loggers)]
    check_propensities(log_propensities, batch.log_propensity, batch.logger, names, "the log")


def _check_loggers(logger: Loggers, loggers: int) -> None:
    if logger.min() < 0:
        raise BadInput(f"logger ids count from 0, got {logger.min()}; number them so")
    counts = np.bincount(logger, minlength=loggers)
    if (counts == 0).any():
        raise BadInput(
            f"logger {int(np.flatnonzero(counts == 0)[0])} of {loggers} has no rows; drop it, and number the "
            "others from 0"
        )
