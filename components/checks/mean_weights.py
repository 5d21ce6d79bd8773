"""Are the propensities right? Weights between loggers, where the propensities under each of them are known.

- average: h_j / h_avg on all rows has mean 1 and is never above n / n_j.
- rates: 1{y = a} h_j / h_avg on all rows has the mean that 1{y = a} has on the rows of logger j.
- rows: the product of h_k / h_j over the rows of logger j exceeds 1/p with a chance of p at most; if it does,
  these rows are likelier to be those of logger k.

The first two take it that the loggers met contexts of one kind. Their errors come from the sums of groups of
contexts, so that rows of one context need not be independent.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp, stdtrit

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.checks.batches import GROUPS, CheckBatch, LogFacts, indicators
from multilogger.components.checks.findings import LEVEL, Finding
from multilogger.components.evaluation.support import Overlap

SHARES = np.array([0.1, 0.5, 1.0])  # of rows that may stand under another logger's name
OFF = 0.05  # a smaller error in all propensities is hardly worth a word
OFF_RATE, LEAST_RATE = 0.25, 0.01
FEWEST_TAKEN = 30
FEWEST_GROUPS = 20
MOST_CELLS = 4_000_000


class MeanWeights:
    """Sums from which every test follows; none of a log that lacks these propensities."""

    def __init__(self, facts: LogFacts) -> None:
        loggers, size = len(facts.loggers), facts.space.size
        self._facts = facts
        self._average = np.zeros((4, loggers))  # of h_j / h_avg: sum, squares, largest; rows
        self._groups = np.zeros((GROUPS, loggers))
        self._rates = np.zeros((GROUPS, loggers, size) if self._few_cells else 0)
        self._own_rates = np.zeros((loggers, size))
        self._pairs = np.zeros((len(SHARES), loggers, loggers))

    @property
    def _few_cells(self) -> bool:
        cells = GROUPS * len(self._facts.loggers) * self._facts.space.size
        return self._facts.all_propensities and len(self._facts.loggers) > 1 and cells <= MOST_CELLS

    def add(self, batch: CheckBatch) -> None:
        if batch.log_propensities is not None and batch.log_average is not None:
            self._add_average(batch, np.exp(batch.log_propensities - batch.log_average[:, None]))
            self._add_pairs(batch, batch.log_propensities)

    def _add_average(self, batch: CheckBatch, weights: Matrix) -> None:
        facts, n = self._facts, float(self._facts.rows)
        loggers, size = self._own_rates.shape
        self._average[0] += weights.sum(axis=0)
        self._average[1] += np.square(weights).sum(axis=0)
        self._average[2] = np.maximum(self._average[2], weights.max(axis=0))
        self._average[3] += len(weights)
        for j in range(loggers):
            self._groups[:, j] += np.bincount(batch.group, weights[:, j] - 1.0, GROUPS)
        if not self._few_cells:
            return
        for rows, action in indicators(batch):
            cell = batch.group[rows] * size + action
            for j in range(loggers):
                mine = (batch.logger[rows] == j) / facts.counts[j]
                off = weights[rows, j] / n - mine
                self._rates[:, j] += np.bincount(cell, off, GROUPS * size).reshape(GROUPS, size)
                self._own_rates[j] += np.bincount(action, mine, size)

    def _add_pairs(self, batch: CheckBatch, table: Matrix) -> None:
        loggers = len(self._facts.loggers)
        own = batch.log_propensity
        for k in range(loggers):
            ratio = np.exp(np.minimum(table[:, k] - own, 700.0))
            for i, share in enumerate(SHARES):
                with np.errstate(divide="ignore"):
                    gain = np.log1p(share * (ratio - 1.0))
                self._pairs[i, :, k] += np.bincount(batch.logger, np.maximum(gain, -1e4), loggers)

    def average(self, logger: int) -> Overlap:
        """h_j / h_avg on all rows."""
        total, squares, largest, rows = self._average[:, logger].tolist()
        deviation = math.sqrt(max(0.0, squares - total**2 / rows) / (rows - 1)) if rows > 1 else math.nan
        return Overlap(
            total / rows,
            deviation / math.sqrt(rows),
            total**2 / squares if squares > 0 else 0.0,
            largest / total,
        )

    def findings(self) -> Iterator[Finding]:
        if self._facts.all_propensities and len(self._facts.loggers) > 1:
            yield from self._off_average()
            yield from self._off_rates()
            yield from self._swapped()

    def _off_average(self) -> Iterator[Finding]:
        for j, name in enumerate(self._facts.loggers):
            over = self.average(j)
            off, t, limit = _group_test(self._groups[:, j], len(self._facts.loggers))
            if abs(over.mean_weight - 1.0) <= OFF or t <= limit:
                continue
            yield Finding(
                "mean-weight",
                "mend",
                f"the mean weight of logger {name} is {over.mean_weight:.3f} ± {off / self._facts.rows:.3f} "
                "where 1 is expected",
                over.mean_weight,
                "propensities are wrong, or the loggers met contexts of different kinds",
            )

    def _off_rates(self) -> Iterator[Finding]:
        if not self._few_cells:
            return
        loggers, size = self._own_rates.shape
        least = np.maximum(LEAST_RATE, FEWEST_TAKEN / self._facts.counts)
        for j, name in enumerate(self._facts.loggers):
            found = []
            for a in np.flatnonzero(self._own_rates[j] >= least[j]):
                _, t, limit = _group_test(self._rates[:, j, a], loggers * size)
                off = float(self._rates[:, j, a].sum() / self._own_rates[j, a])
                if t > limit and abs(off) > OFF_RATE:
                    found.append((off, int(a)))
            if found:
                off, worst = max(found, key=lambda one: abs(one[0]))
                rate = float(self._own_rates[j, worst])
                more = f" and {len(found) - 1} more" if len(found) > 1 else ""
                yield Finding(
                    "action-rate",
                    "mend",
                    f"logger {name} took {self._facts.actions[worst]}{more} in {rate:.1%} of its rows, but "
                    f"by its propensities in {rate * (1 + off):.1%}",
                    off,
                    "propensities are wrong, or the loggers met contexts of different kinds",
                )

    def _swapped(self) -> Iterator[Finding]:
        loggers = len(self._facts.loggers)
        log_e = logsumexp(self._pairs, axis=0) - math.log(len(SHARES))
        limit = math.log(loggers * (loggers - 1) / LEVEL)
        for j, name in enumerate(self._facts.loggers):
            k = int(np.argmax(np.where(np.arange(loggers) == j, -np.inf, log_e[j])))
            if log_e[j, k] <= limit:
                continue
            mutual = log_e[k, j] > limit
            yield Finding(
                "swapped-loggers" if mutual else "likelier-elsewhere",
                "unsafe",
                f"the rows of logger {name} are far likelier under the propensities of logger "
                f"{self._facts.loggers[k]}" + (", and the other way round" if mutual else ""),
                float(log_e[j, k]),
                "names of loggers or columns of propensities are swapped; put them right"
                if mutual
                else "its propensities are wrong, or rows of the other stand under its name; put them right",
            )


def _group_test(sums: Vector, tests: int) -> tuple[float, float, float]:
    """Standard error of the total of group sums whose mean is 0, |t|, and the limit for so many tests."""
    used = sums[sums != 0]
    count = len(used)
    if count < FEWEST_GROUPS:
        return math.nan, 0.0, math.inf
    error = float(used.std(ddof=1)) * math.sqrt(count)
    limit = float(stdtrit(count - 1, 1.0 - LEVEL / (2 * tests)))
    return error, abs(float(used.sum())) / error if error > 0 else 0.0, limit
