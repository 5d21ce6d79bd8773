"""A log under a policy, and its sums by context, from which every estimate and resample follows.

Rows of one context are dependent: loggers replay it, and its risk is in all of them. Contexts are what is
drawn from P(x), so contexts, not rows, are resampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.estimators.weights import importance_weights

Contexts = NDArray[np.int64]


@dataclass(frozen=True)
class AdditiveScores:
    """Weights that add up over labels: of each row's own logger (n,), and balanced (n,).

    `shares` (J,) is n_j lambda_j by support, and `effective_rows` is n / E[W^2] of balanced weights, both
    from the policies alone: rare large weights need not have been seen.
    """

    own: Vector
    balanced: Vector
    shares: Vector
    effective_rows: float


@dataclass(frozen=True)
class ScoredLog:
    """n rows of J loggers.

    `names` are the loggers' labels in the user's log; `logger` (n,) and `context` (n,) count from 0 without
    gaps, and a row whose context is not known is a context of its own. `delta` (n,) lies in
    [0, `max_loss`]; `log_target` (n,) is log h(y|x); `log_average` (n,) is log h_avg(y|x), None where the log
    has no propensities of other loggers. `is_greedy` (n,) marks rows whose action is the policy's likeliest,
    `log_greedy` (n,) is log h of that likeliest action. `additive` is known of label vectors whose loggers'
    policies are at hand.
    """

    names: tuple[str, ...]
    logger: Loggers
    context: Contexts
    delta: Vector
    log_propensity: Vector
    log_target: Vector
    max_loss: float
    log_average: Vector | None
    is_greedy: NDArray[np.bool_]
    log_greedy: Vector
    additive: AdditiveScores | None = None

    @property
    def rows(self) -> int:
        return len(self.delta)

    @property
    def loggers(self) -> int:
        return len(self.names)

    @cached_property
    def counts(self) -> Vector:
        """n_j: (J,)."""
        return np.bincount(self.logger, minlength=self.loggers).astype(np.float64)

    @cached_property
    def contexts(self) -> int:
        return int(self.context.max()) + 1

    @cached_property
    def weights(self) -> Vector:
        """h / h_j: (n,)."""
        return importance_weights(self.log_target, self.log_propensity)

    @cached_property
    def average_weights(self) -> Vector | None:
        """h / h_avg: (n,)."""
        if self.log_average is None:
            return None
        return importance_weights(self.log_target, self.log_average)


Sums = NDArray[np.float64]  # (..., J, len(Summed))


class Summed(IntEnum):
    """What is summed: w = h/h_j, b = h/h_avg, u = w delta, v = b delta; `_CUT` from weights cut at `clip`;
    `UU` and `WW` are of squares.

    Q is the modelled loss under the policy, R what is left of the loss times b, or w where b is not known.
    `ADDITIVE_U` and `ADDITIVE_V` are losses times additive weights, own and balanced; `DELTA` is the loss.
    """

    ROWS = 0
    W = 1
    U = 2
    UU = 3
    W_CUT = 4
    U_CUT = 5
    UU_CUT = 6
    B = 7
    V = 8
    B_CUT = 9
    V_CUT = 10
    Q = 11
    R = 12
    WW = 13
    WW_CUT = 14
    ADDITIVE_U = 15
    ADDITIVE_V = 16
    DELTA = 17


@dataclass(frozen=True)
class Stratum:
    """Contexts that are resampled among themselves: `sums` is (contexts, loggers of the stratum, columns).

    `logger` is the one that all their rows come from, None for contexts that several loggers met. Where
    contexts are many, `sums` are those of blocks of them.
    """

    logger: int | None
    sums: Sums

    def in_blocks(self, most: int, rng: np.random.Generator) -> "Stratum":
        """Contexts dealt out at random to at most `most` blocks of equal size; as they are where fewer."""
        contexts = len(self.sums)
        if contexts <= most:
            return Stratum(self.logger, np.ascontiguousarray(self.sums))
        block = rng.permutation(contexts) % most
        sums = np.empty((most, *self.sums.shape[1:]))
        for place in np.ndindex(self.sums.shape[1:]):
            sums[(slice(None), *place)] = np.bincount(block, self.sums[(slice(None), *place)], minlength=most)
        return Stratum(self.logger, sums)

    def spread(self, loggers: int, rows: slice) -> Sums:
        """The sums of some contexts with a place for every logger: (contexts, J, columns)."""
        part = self.sums[rows]
        if self.logger is None:
            return part
        whole = np.zeros((len(part), loggers, len(Summed)))
        whole[:, self.logger] = part[:, 0]
        return whole

    def total(self, loggers: int) -> Sums:
        return self.spread_total(self.sums.sum(axis=0), loggers)

    def spread_total(self, sums: Sums, loggers: int) -> Sums:
        """Sums (..., loggers of the stratum, columns) with a place for every logger."""
        if self.logger is None:
            return sums
        whole = np.zeros((*sums.shape[:-2], loggers, len(Summed)))
        whole[..., self.logger, :] = sums[..., 0, :]
        return whole


def row_terms(log: ScoredLog, clip: float, model: ModelledLoss | None) -> dict[Summed, Vector]:
    """The terms of each row that are summed: (n,) each; balanced and DR terms only where they exist."""
    w, b = log.weights, log.average_weights
    cut = np.minimum(w, clip)
    terms = {Summed.ROWS: np.ones(log.rows), Summed.W: w, Summed.U: w * log.delta, Summed.W_CUT: cut}
    terms[Summed.DELTA] = log.delta
    terms[Summed.U_CUT] = cut * log.delta
    terms[Summed.WW], terms[Summed.WW_CUT] = np.square(w), np.square(cut)
    terms[Summed.UU] = np.square(terms[Summed.U])
    terms[Summed.UU_CUT] = np.square(terms[Summed.U_CUT])
    if b is not None:
        cut_b = np.minimum(b, clip)
        terms |= {Summed.B: b, Summed.V: b * log.delta, Summed.B_CUT: cut_b, Summed.V_CUT: cut_b * log.delta}
    if log.additive is not None:
        terms[Summed.ADDITIVE_U] = log.additive.own * log.delta
        terms[Summed.ADDITIVE_V] = log.additive.balanced * log.delta
    if model is not None:
        terms[Summed.Q] = model.q_target
        terms[Summed.R] = (w if b is None else b) * (log.delta - model.q_logged)
    return terms


def context_sums(log: ScoredLog, clip: float, model: ModelledLoss | None) -> tuple[Stratum, ...]:
    """One stratum a logger for contexts that it alone met, and one for contexts that several met.

    Choice: resampling within these keeps a logger with few rows in every resample; the shared contexts stay
    one stratum, so that what their loggers have in common, the risk of the context, varies in all of them.
    """
    lowest, highest = _logger_range(log)
    terms = row_terms(log, clip, model)
    strata = []
    for j in range(log.loggers):
        mine = (lowest == j) & (highest == j)
        if mine.any():
            strata.append(Stratum(j, _sums(terms, log.context, np.zeros_like(log.logger), mine, 1)))
    shared = lowest != highest
    if shared.any():
        strata.append(Stratum(None, _sums(terms, log.context, log.logger, shared, log.loggers)))
    return tuple(strata)


def total_sums(strata: Sequence[Stratum], loggers: int) -> Sums:
    """The sums of the whole log: (J, columns)."""
    return np.asarray(np.stack([stratum.total(loggers) for stratum in strata]).sum(axis=0))


def _logger_range(log: ScoredLog) -> tuple[Contexts, Contexts]:
    """The lowest and the highest logger of each context: (contexts,) each."""
    if log.contexts == log.rows:
        logger = np.empty_like(log.logger)
        logger[log.context] = log.logger
        return logger, logger
    cell = log.context * log.loggers + log.logger
    met = np.bincount(cell, minlength=log.contexts * log.loggers).reshape(-1, log.loggers) > 0
    return met.argmax(axis=1), log.loggers - 1 - met[:, ::-1].argmax(axis=1)


def _sums(
    terms: dict[Summed, Vector],
    context: Contexts,
    place: Contexts,
    members: NDArray[np.bool_],
    places: int,
) -> Sums:
    """The terms of rows whose contexts are members, by context and place: (contexts, places, columns)."""
    rows = np.flatnonzero(members[context])  # numbers of rows: several times as fast as a mask
    number = np.cumsum(members) - 1
    cell = number[context.take(rows)] * places + place.take(rows)
    size = int(members.sum()) * places
    sums = np.zeros((len(Summed), size))
    alone = len(cell) == size and places == 1  # each row is a context of its own
    in_order = alone and bool((np.diff(cell) > 0).all())
    for column, values in terms.items():
        if in_order:
            values.take(rows, out=sums[column], mode="clip")  # numpy copies once more where it may raise
            continue
        chosen = values if len(rows) == len(values) else values.take(rows)
        if alone:
            sums[column, cell] = chosen
        else:
            sums[column] = np.bincount(cell, chosen, minlength=size)
    return np.moveaxis(sums.reshape(len(Summed), -1, places), 0, -1)
