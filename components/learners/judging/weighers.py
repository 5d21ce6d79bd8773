"""The weights W of the doubly robust estimate in `judge.py`, and how far policies reach from the loggers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.additive_weights import label_variances
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.learners.judging.own_rows import all_counts
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.lots import Lot

TRUSTED_WEIGHT = 100.0  # of whole actions in D
LEAST_VARIANCE = 0.005  # of a label
IMITATED_ROWS = 100_000  # of a log on disk, where loggers are not known
DRAWS = 32  # of label vectors at each context, for means over them

Table = NDArray[np.float64]


class Weigher(Protocol):
    """Weights of policies by their number, and their reach."""

    def weights(self, number: int, lot: Lot, product: Vector) -> Vector:
        """W of the rows of a lot, whose h/h_avg is `product`: (n,) each."""

    def reach(self, candidates: int) -> tuple[Table, Table]:
        """`spread` and `untold` of the first policies, the candidates: (C, J, m) each; NaN if not known."""


class ChoiceWeigher:
    """h/h_avg itself."""

    def __init__(self, log: LearnerLog, tables: Sequence[Matrix]) -> None:
        self._log, self._tables = log, tables

    def weights(self, number: int, lot: Lot, product: Vector) -> Vector:
        return np.minimum(product, TRUSTED_WEIGHT)

    def reach(self, candidates: int) -> tuple[Table, Table]:
        """sum_a (min(h_a, 100 h_avg,a) - h_ja)^2 / h_avg,a, and the sum of what was cut."""
        shape = candidates, self._log.loggers, self._log.contexts
        spread, untold = np.full(shape, np.nan), np.full(shape, np.nan)
        if len(self._tables) == candidates:
            return spread, untold
        p = [self._log.space.probabilities(table) for table in self._tables]
        counts = all_counts(self._log)
        average = np.tensordot(counts / counts.sum(), np.stack(p[candidates:]), 1)
        floor = np.maximum(average, np.finfo(np.float64).tiny)
        for c in range(candidates):
            cut = np.minimum(p[c], TRUSTED_WEIGHT * average)
            untold[c] = (p[c] - cut).sum(axis=1)
            for j in range(self._log.loggers):
                spread[c, j] = (np.square(cut - p[candidates + j]) / floor).sum(axis=1)
        return spread, untold


class VectorWeigher(ChoiceWeigher):
    """h/h_avg of whole label vectors."""

    def reach(self, candidates: int) -> tuple[Table, Table]:
        """The same means over label vectors, by draws from the policies: of w = h/h_avg and v = h_j/h_avg,

        E[(min(w, 100) - v)^2] = E_h[min(w, 100)^2 / w - 2 min(w, 100) v / w] + E_j[v], with E the mean under
        h_avg, and untold is E_h[1 - min(w, 100) / w] times the largest loss.
        """
        shape = candidates, self._log.loggers, self._log.contexts
        spread, untold = np.zeros(shape), np.zeros(shape)
        if len(self._tables) == candidates:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        rng, space, counts = np.random.default_rng(0), self._log.space, all_counts(self._log)
        for _ in range(DRAWS):
            for j, table in enumerate(self._tables[candidates:]):
                own = self._log_loggers(space.draw(table, rng))
                spread[:, j] += np.exp(own[:, j] - log_mixture(own, counts))
            for c, table in enumerate(self._tables[:candidates]):
                action = space.draw(table, rng)
                own = self._log_loggers(action)
                average = log_mixture(own, counts)
                w = np.exp(space.log_probability(table, action) - average)
                kept = np.minimum(w, TRUSTED_WEIGHT)
                v = np.exp(own - average[:, None])
                spread[c] += kept**2 / w - 2.0 * (kept / w) * v.T
                untold[c] += space.largest_loss * (1.0 - kept / w)
        return np.maximum(spread / DRAWS, 0.0), untold / DRAWS

    def _log_loggers(self, action: Actions) -> Matrix:
        """log h_j of an action at each context: (m, J)."""
        known = self._tables[-self._log.loggers :]
        return np.stack([self._log.space.log_probability(table, action) for table in known], axis=1)


class LabelWeigher:
    """Weights that add up over labels; loggers that are not known are imitated."""

    def __init__(self, log: LearnerLog, tables: Sequence[Matrix]) -> None:
        self._log = log
        loggers = np.stack(_logger_tables(log))
        counts = all_counts(log)
        shares = counts / counts.sum()
        self._p = log.space.probabilities(loggers)
        variance = np.tensordot(shares, label_variances(loggers), 1)
        self._variance = np.maximum(variance, LEAST_VARIANCE)
        self._told = variance / self._variance
        self._average = np.tensordot(shares, self._p, 1)
        self._marginals = [log.space.probabilities(table) for table in tables]

    def weights(self, number: int, lot: Lot, product: Vector) -> Vector:
        slopes = (self._marginals[number] - self._average) / self._variance
        centred = lot.action - self._p[lot.logger, lot.context]
        return np.asarray(1.0 + np.einsum("nq,nq->n", slopes[lot.context], centred))

    def reach(self, candidates: int) -> tuple[Table, Table]:
        """sum_l (h_l - p_jl)^2 / v_l, and twice sum_l |h_l - p_jl| where v_l was raised.

        A label's part of the loss and of the model both lie in [-1, 1], so they differ by 2 at most.
        """
        shape = candidates, *self._p.shape[:2]
        spread, untold = np.empty(shape), np.empty(shape)
        for c, marginals in enumerate(self._marginals[:candidates]):
            off = np.abs(marginals - self._p)
            spread[c] = (np.square(off) / self._variance).sum(axis=2)
            untold[c] = 2.0 * (off * (1.0 - self._told)).sum(axis=2)
        return spread, untold


def _logger_tables(log: LearnerLog) -> list[Matrix]:
    from multilogger.components.learners.loss_models.additivity import logging_marginals
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.reading import thin_log

    if log.logger_logits:
        return list(log.logger_logits)
    held = thin_log(log, min(IMITATED_ROWS, log.rows)) if isinstance(log, StreamedLog) else log
    return [log.space.logits_of(p, 1e-6) for p in logging_marginals(held)]
