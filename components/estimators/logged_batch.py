"""Rows of bandit logs with the log-probabilities that every estimator needs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.weights import check_log_propensities, check_log_propensity

Loggers = NDArray[np.int64]

PROPENSITY_TOLERANCE = 1e-4  # logs kept in float32 agree with themselves to about 1e-6


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
        _check_losses(self.delta, self.max_loss)
        check_log_propensity(self.log_propensity)
        _check_log_target(self.log_target)
        if self.log_propensities is not None:
            _check_all_loggers(self, self.log_propensities)
        _check_loggers(self.logger, self.loggers)

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


@dataclass(frozen=True)
class LoggerIndex:
    """Names of loggers in ascending order, and the 0-based id of each row: (n,)."""

    names: tuple[str, ...]
    logger: Loggers


def index_loggers(labels: Sequence[object] | NDArray[np.generic]) -> LoggerIndex:
    """Give ids 0..J-1 to loggers that a user's log calls by any name."""
    names, logger = np.unique(np.asarray(labels), return_inverse=True)
    return LoggerIndex(tuple(str(name) for name in names), logger.astype(np.int64))


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


def _check_losses(delta: Vector, max_loss: float) -> None:
    if not (np.isfinite(max_loss) and max_loss > 0):
        raise BadInput(
            f"max_loss must be a number above 0, got {max_loss}; for Hamming loss it is the label count"
        )
    if not np.isfinite(delta).all():
        row = int(np.flatnonzero(~np.isfinite(delta))[0])
        raise BadInput(
            f"the loss of row {row} is {delta[row]:g}, not a finite number; fill it in or drop the row"
        )
    outside = (delta < 0) | (delta > max_loss)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise BadInput(
            f"losses must lie in [0, {max_loss:g}], got {delta[row]:g} in row {row}; "
            "raise max_loss, or turn rewards r into losses max_loss - r"
        )


def _check_log_target(log_target: Vector) -> None:
    """-inf is allowed: a policy may well never take an action that a logger took."""
    bad = np.isnan(log_target) | (log_target > 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadInput(
            f"log_target of row {row} is {log_target[row]:g}, not the logarithm of a probability; "
            "is the policy's output finite?"
        )


def _check_all_loggers(batch: LoggedBatch, log_propensities: Matrix) -> None:
    """-inf is allowed in columns other than the row's own: one logger may never do what another did."""
    if log_propensities.ndim != 2 or len(log_propensities) != batch.rows:
        raise BadInput(
            f"log_propensities needs one row a logged action and one column a logger, got shape "
            f"{log_propensities.shape} for {batch.rows} rows"
        )
    check_log_propensities(log_propensities)
    if batch.logger.min() < 0 or batch.logger.max() >= log_propensities.shape[1]:
        raise BadInput(
            f"logger ids must lie in 0..{log_propensities.shape[1] - 1}, the columns of log_propensities, "
            f"got {batch.logger.min()} to {batch.logger.max()}; number the loggers with index_loggers"
        )
    own = log_propensities[np.arange(batch.rows), batch.logger]
    off = ~np.isclose(own, batch.log_propensity, rtol=PROPENSITY_TOLERANCE, atol=PROPENSITY_TOLERANCE)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise BadInput(
            f"row {row} has log propensity {batch.log_propensity[row]:.6g} but {own[row]:.6g} in column "
            f"{batch.logger[row]} of log_propensities; order the columns by logger id"
        )


def _check_loggers(logger: Loggers, loggers: int) -> None:
    if logger.min() < 0:
        raise BadInput(f"logger ids count from 0, got {logger.min()}; number the loggers with index_loggers")
    counts = np.bincount(logger, minlength=loggers)
    if (counts == 0).any():
        raise BadInput(
            f"logger {int(np.flatnonzero(counts == 0)[0])} of {loggers} has no rows; drop it, and number the "
            "others with index_loggers"
        )
