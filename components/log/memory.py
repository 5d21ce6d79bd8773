"""The bandit log as a learner holds it: contexts once, rows by index, everything in memory."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.estimators.ips import WeighedRows
from multilogger.components.estimators.logged_batch import LoggedBatch, Loggers
from multilogger.components.estimators.weights import importance_weights, log_mixture
from multilogger.components.log.checks import check_contexts, check_tables


@dataclass(frozen=True)
class TrainingLog:
    """Contexts `x` (m, d), and one row for each of n logged actions of a `space`.

    `context` (n,) is the row of x; losses `delta` (n,) are at most the space's `largest_loss`;
    `log_propensities` (n, J) is log h_k(y|x) under every logger;
    `validation` (n,) marks the rows kept aside. `logger_logits`, one (m, q) a logger, are needed for exact
    divergences and by `balanced-reg`; `truth` (m, q), the true labels, by `full-information` alone.
    """

    x: Features
    context: NDArray[np.int64]
    action: Actions
    delta: Vector
    log_propensities: Matrix
    logger: Loggers
    validation: NDArray[np.bool_]
    space: ActionSpace
    logger_logits: tuple[Matrix, ...] = ()
    truth: Actions | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_columns(self)
        check_contexts(self.context, self.contexts)
        check_tables(self.logger_logits, self.truth, self.loggers, self.contexts, self.space)
        for part, rows in (("training", ~self.validation), ("validation", self.validation)):
            if set(np.unique(self.logger[rows])) != set(range(self.loggers)):
                raise BadInput(
                    f"every logger needs rows in the {part} split, got loggers "
                    f"{np.unique(self.logger[rows]).tolist()} of {self.loggers}; "
                    "log more, or change the split"
                )

    @property
    def rows(self) -> int:
        return len(self.delta)

    @property
    def loggers(self) -> int:
        return int(self.log_propensities.shape[1])

    @property
    def contexts(self) -> int:
        return int(self.x.shape[0])

    @property
    def features(self) -> int:
        return int(self.x.shape[1])

    @property
    def total_delta(self) -> float:
        return float(self.delta.sum())

    def rows_of(self, every_row: bool) -> "SideRows":
        """All rows, or the training rows."""
        return self._part(np.ones(self.rows, dtype=np.bool_)) if every_row else self._training_part

    def part(self, validation: bool) -> "SideRows":
        """The rows of one side of the split, the same ones for all who ask."""
        return self._validation_part if validation else self._training_part

    @cached_property
    def _training_part(self) -> "SideRows":
        return self._part(~self.validation)

    @cached_property
    def _validation_part(self) -> "SideRows":
        return self._part(self.validation)

    def _part(self, among: NDArray[np.bool_]) -> "SideRows":
        rows = np.flatnonzero(among)
        counts = np.bincount(self.logger[rows], minlength=self.loggers).astype(np.float64)
        return SideRows(
            context=self.context[rows],
            action=self.action[rows],
            delta=self.delta[rows],
            log_propensity=self.log_propensities[rows, self.logger[rows]],
            log_propensities=self.log_propensities[rows],
            log_average=log_mixture(self.log_propensities[rows], counts),
            logger=self.logger[rows],
            counts=counts,
            space=self.space,
        )


@dataclass(frozen=True)
class SideRows:
    """The rows of one side of the split, with log h_avg(y|x) of that side's own logger counts."""

    context: NDArray[np.int64]
    action: Actions
    delta: Vector
    log_propensity: Vector
    log_propensities: Matrix
    log_average: Vector
    logger: Loggers
    counts: Vector
    space: ActionSpace

    @cached_property
    def by_logger(self) -> tuple[NDArray[np.int64], ...]:
        """The rows of each logger."""
        return tuple(np.flatnonzero(self.logger == j) for j in range(len(self.counts)))

    def under(self, logits: Matrix, normaliser: Vector | None = None) -> LoggedBatch:
        """These rows with log h(y|x) of a policy given by its logits on all contexts (m, q).

        `normaliser` (m,) is the space's `log_normaliser` of the logits, where it is known.
        """
        log_target = self.space.log_probability_at(logits, self.context, self.action, normaliser)
        return self._as_logged.under(log_target)

    @cached_property
    def _as_logged(self) -> LoggedBatch:
        """These rows under their own loggers, checked once for all policies."""
        return LoggedBatch(
            logger=self.logger,
            delta=self.delta,
            log_propensity=self.log_propensity,
            log_target=self.log_propensity,
            max_loss=self.space.largest_loss,
            log_propensities=self.log_propensities,
        )

    def average_rows(self, batch: LoggedBatch, clip: float = math.inf) -> WeighedRows:
        """The rows of `under` weighed by h/h_avg, which is known here already."""
        weights = importance_weights(batch.log_target, self.log_average, clip)
        return WeighedRows(self.logger, weights, self.delta, self.counts)


def densify(x: Features) -> NDArray[np.float32]:
    """Contexts (n, d) as a dense float32 array."""
    dense = x.toarray() if sparse.issparse(x) else x
    return np.ascontiguousarray(dense, dtype=np.float32)


def _check_columns(log: TrainingLog) -> None:
    lengths = {
        name: len(getattr(log, name))
        for name in ("context", "action", "delta", "log_propensities", "logger", "validation")
    }
    if len(set(lengths.values())) > 1 or log.rows == 0:
        raise BadInput(f"a log needs columns of one length, got {lengths}; take all from the same rows")
    if log.action.shape[1:] != log.space.action_shape or log.log_propensities.ndim != 2:
        raise BadInput(
            f"action must be (n, {', '.join(map(str, log.space.action_shape))}) and log_propensities (n, J), "
            f"got shapes {log.action.shape} and {log.log_propensities.shape}"
        )
