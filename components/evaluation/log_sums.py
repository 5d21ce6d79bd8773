"""A log under a policy summed up: all that an evaluation asks of its rows, in sums that can be added.

Parts of a log may be summed up apart, if no context has rows in two of them, and added in any fixed order. Of
rows themselves, the loggers' weights and losses are summed; of contexts, whose rows vary together, sums and
squares of their weighted losses.
"""

from dataclasses import dataclass, fields
from enum import IntEnum
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.estimators.smoothing import Whole
from multilogger.components.evaluation.context_sums import (
    ScoredLog,
    Stratum,
    Summed,
    Sums,
    context_sums,
    total_sums,
)
from multilogger.components.evaluation.guards import check_weights

Cube = NDArray[np.float64]
MOST_BLOCKS = 4096  # of contexts, in each stratum: more would not make an interval surer


class WeightKind(IntEnum):
    """Which weights: h/h_j, h/h_avg, both also cut at the clip, and those that add up over labels."""

    OWN = 0
    OWN_CUT = 1
    AVERAGE = 2
    AVERAGE_CUT = 3
    ADDITIVE = 4
    ADDITIVE_AVERAGE = 5


KINDS = 4  # those with sums by context
_W = [Summed.W, Summed.W_CUT, Summed.B, Summed.B_CUT]
_U = [Summed.U, Summed.U_CUT, Summed.V, Summed.V_CUT]


class LossOrGain(IntEnum):
    """What is weighed: the loss, or what it lacks to the largest one."""

    LOSS = 0
    GAIN = 1


@dataclass(frozen=True, eq=False)
class LogSums:
    """Sums of a log of J loggers. Where there are J + 1 of something, the last is of all rows together.

    `strata` has the sums of contexts, or of blocks of them. `contexts` (J + 1,) is how many were met, `most`
    (J + 1, kinds) the largest sum of possible weights in one of them; `context_totals` and `context_squares`
    (J + 1, kinds, sides) are of their weighted losses, `grams` (sides, J, J) products of those of two loggers
    under h/h_j. `weights`, `squares` and `largest` (kinds, J) are of the weights of rows. `spread` (J, 3) has
    sums over contexts of squared losses, of losses times rows, and of squared rows. `greedy` (J,) counts rows
    with the likeliest action, `likeliest` sums its probability. `free` (sides,) counts rows without loss and
    without gain; `extremes` (2, J) are the lowest loss, negated, and the highest; `most_rows` is how
    many rows the context with most of them has.
    """

    strata: tuple[Stratum, ...]
    contexts: Vector
    most: Matrix
    context_totals: Cube
    context_squares: Cube
    grams: Cube
    weights: Matrix
    squares: Matrix
    largest: Matrix
    spread: Matrix
    greedy: Vector
    likeliest: float
    free: Vector
    extremes: Matrix
    most_rows: float

    @property
    def rows(self) -> int:
        return int(self.totals[:, Summed.ROWS].sum()) if self.strata else 0

    @property
    def totals(self) -> Sums:
        """The sums of the whole log: (J, columns)."""
        return total_sums(self.strata, len(self.greedy))

    @property
    def whole(self) -> Whole:
        return Whole(int(self.contexts[-1]), self.rows, int(self.most_rows))

    def plus(self, other: "LogSums") -> "LogSums":
        """Those of two parts that have no context in common."""
        found: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            joined = np.maximum(mine, theirs) if field.name in _LARGEST else mine + theirs
            found[field.name] = joined if field.name != "strata" else _joined(mine, theirs)
        return LogSums(**found)


_LARGEST = ("most", "largest", "extremes", "most_rows")


def added(parts: "list[LogSums]") -> LogSums:
    """All parts, in their order."""
    return reduce(LogSums.plus, parts)


def _joined(one: tuple[Stratum, ...], other: tuple[Stratum, ...]) -> tuple[Stratum, ...]:
    loggers = sorted({s.logger for s in (*one, *other)}, key=lambda logger: (logger is None, logger))
    return tuple(
        Stratum(logger, np.concatenate([s.sums for s in (*one, *other) if s.logger == logger]))
        for logger in loggers
    )


@dataclass(frozen=True)
class Bounds:
    """What is known beforehand: where weights are cut, and the largest possible weights (kinds, J)."""

    clip: float
    largest: Matrix

    @classmethod
    def of(cls, clip: float, own: Vector, average: float) -> "Bounds":
        """From the largest weights h/h_j (J,) and h/h_avg, infinite where nobody knows them."""
        every = np.full(len(own), average)
        return cls(clip, np.stack([own, np.minimum(own, clip), every, np.minimum(every, clip)]))


def sum_up(
    log: ScoredLog,
    model: ModelledLoss | None,
    bounds: Bounds,
    rng: np.random.Generator,
    blocks: int = MOST_BLOCKS,
) -> LogSums:
    """Sum up a log, or a part of one; its strata have at most so many `blocks`."""
    check_weights(log)
    loggers = log.loggers
    strata = context_sums(log, bounds.clip, model)
    contexts, most = np.zeros(loggers + 1), np.zeros((loggers + 1, KINDS))
    totals, squares = np.zeros((loggers + 1, KINDS, 2)), np.zeros((loggers + 1, KINDS, 2))
    grams, spread = np.zeros((2, loggers, loggers)), np.zeros((loggers, 3))
    for stratum in strata:
        own = np.arange(loggers) if stratum.logger is None else np.array([stratum.logger])
        rows = stratum.sums[..., Summed.ROWS]
        contexts[own] += (rows > 0).sum(axis=0)
        contexts[-1] += len(rows)
        most[own] = np.maximum(most[own], rows.max(axis=0)[:, None] * bounds.largest[:, own].T)
        for kind in range(KINDS):
            met = np.where(rows > 0, rows, np.nan) * bounds.largest[kind, own]
            most[-1, kind] = max(most[-1, kind], float(np.nansum(met, axis=1).max()))
            loss = stratum.sums[..., _U[kind]]
            for side in LossOrGain:
                terms = loss if side is LossOrGain.LOSS else log.max_loss * stratum.sums[..., _W[kind]] - loss
                totals[own, kind, side] += terms.sum(axis=0)
                squares[own, kind, side] += np.einsum("ij,ij->j", terms, terms)
                whole = terms[:, 0] if len(own) == 1 else terms.sum(axis=1)
                totals[-1, kind, side] += whole.sum()
                squares[-1, kind, side] += whole @ whole
                if kind == WeightKind.OWN:
                    grams[side][np.ix_(own, own)] += terms.T @ terms
        delta = stratum.sums[..., Summed.DELTA]
        for i, (one, other) in enumerate(((delta, delta), (delta, rows), (rows, rows))):
            spread[own, i] += np.einsum("ij,ij->j", one, other)
    by_logger = _ByLogger.of(log)
    weights = _row_sums(log, bounds.clip, by_logger)
    return LogSums(
        strata=tuple(stratum.in_blocks(blocks, rng) for stratum in strata),
        contexts=contexts,
        most=most,
        context_totals=totals,
        context_squares=squares,
        grams=grams,
        weights=weights[0],
        squares=weights[1],
        largest=weights[2],
        spread=spread,
        greedy=np.bincount(log.logger, log.is_greedy, minlength=loggers).astype(np.float64),
        likeliest=float(np.exp(log.log_greedy).sum()),
        free=np.array([np.sum(log.delta <= 0), np.sum(log.delta >= log.max_loss)], dtype=np.float64),
        extremes=np.stack([by_logger.largest(-log.delta), by_logger.largest(log.delta)]),
        most_rows=max((s.sums[..., Summed.ROWS].sum(axis=1).max() for s in strata), default=0.0),
    )


@dataclass(frozen=True)
class _ByLogger:
    """Rows sorted by logger: their numbers (n,), the loggers that have any, and where each begins."""

    order: Loggers
    present: Loggers
    starts: Loggers
    loggers: int

    @classmethod
    def of(cls, log: ScoredLog) -> "_ByLogger":
        counts = np.bincount(log.logger, minlength=log.loggers)
        present = np.flatnonzero(counts)
        starts = np.r_[0, np.cumsum(counts)[:-1]][present]
        narrow = log.logger.astype(np.min_scalar_type(log.loggers))  # the fewer bytes, the faster the sort
        return cls(np.argsort(narrow, kind="stable"), present, starts, log.loggers)

    def largest(self, values: Vector) -> Vector:
        """Of each logger's rows: (J,)."""
        found = np.full(self.loggers, -np.inf)
        if len(self.present):
            found[self.present] = np.maximum.reduceat(values.take(self.order), self.starts)
        return found


def _row_sums(log: ScoredLog, clip: float, by_logger: _ByLogger) -> Cube:
    """Sum, sum of squares and largest of each kind of weights, by logger: (3, kinds, J)."""
    found = np.zeros((3, len(WeightKind), log.loggers))
    b, additive = log.average_weights, log.additive
    kinds: dict[WeightKind, Vector | None] = {
        WeightKind.OWN: log.weights,
        WeightKind.OWN_CUT: np.minimum(log.weights, clip),
        WeightKind.AVERAGE: b,
        WeightKind.AVERAGE_CUT: None if b is None else np.minimum(b, clip),
        WeightKind.ADDITIVE: None if additive is None else additive.own,
        WeightKind.ADDITIVE_AVERAGE: None if additive is None else additive.balanced,
    }
    for kind, values in kinds.items():
        if values is not None:
            for place, terms in enumerate((values, np.square(values))):
                found[place, kind] = np.bincount(log.logger, terms, minlength=log.loggers)
            found[2, kind] = by_logger.largest(values)
    return found
