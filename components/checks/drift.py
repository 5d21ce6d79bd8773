"""Do losses, actions or propensities change over time? Blocks of time, by logger.

Losses are compared between blocks, by a test of their spread and by one of a trend. A logger may change what
it does, as long as its propensities are those of the time; so that is only noted.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import chdtrc, ndtr

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts, indicators
from multilogger.components.checks.findings import LEVEL, Finding

BLOCKS = 20
FEWEST_EVENTS = 20  # of a block
LEAST_CHANGE = 0.15  # of the losses' own spread, between the calmest and the wildest blocks
LEAST_RELATIVE = 0.2


def block_edges(times: Vector) -> Vector | None:
    """Edges between blocks of equally many rows; None where there are not two different times."""
    if len(times) == 0 or times.min() == times.max():
        return None
    inner = np.quantile(times, np.arange(1, BLOCKS) / BLOCKS)
    return np.asarray(np.unique(inner), dtype=np.float64)


class Drift:
    """Sums by logger and block of time; nothing of a log without time."""

    def __init__(self, facts: LogFacts) -> None:
        self._facts = facts
        loggers, blocks = len(facts.loggers), 0 if facts.time_edges is None else len(facts.time_edges) + 1
        self.rows = np.zeros((loggers, blocks))
        self._loss = np.zeros((loggers, blocks))
        self._squares = np.zeros((loggers, blocks))
        self._log_p = np.zeros((loggers, blocks))
        self._taken = np.zeros((loggers, blocks, facts.space.size))

    def add(self, batch: CheckBatch) -> None:
        if self._facts.time_edges is None or batch.time is None:
            return
        loggers, blocks, size = self._taken.shape
        block = np.searchsorted(self._facts.time_edges, batch.time, side="right")
        cell = batch.logger * blocks + block
        for to, values in (
            (self.rows, np.ones(len(batch))),
            (self._loss, batch.loss),
            (self._squares, np.square(batch.loss)),
            (self._log_p, batch.log_propensity),
        ):
            to += np.bincount(cell, values, loggers * blocks).reshape(loggers, blocks)
        for rows, action in indicators(batch):
            found = np.bincount(cell[rows] * size + action, minlength=self._taken.size)
            self._taken += found.reshape(self._taken.shape)

    @property
    def mean_loss(self) -> Matrix:
        """By logger and block: (J, B)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._loss / self.rows)

    def findings(self) -> Iterator[Finding]:
        if not self.rows.shape[1]:
            return
        for j, name in enumerate(self._facts.loggers):
            yield from self._losses(j, name)
            yield from self._actions(j, name)

    def _losses(self, j: int, name: str) -> Iterator[Finding]:
        n, total, squares = _joined(
            np.stack([self.rows[j], self._loss[j], self._squares[j]]), self._facts.max_loss
        )
        if len(n) < 2:
            return
        means, mean = total / n, float(total.sum() / n.sum())
        variance = float((squares - np.square(total) / n).sum() / max(1.0, n.sum() - len(n)))
        if variance <= 0:
            return
        spread = float((n * np.square(means - mean)).sum() / variance)
        at = np.cumsum(n) - 0.5 * n
        at = at - (at * n).sum() / n.sum()
        slope = float((at * total).sum() / math.sqrt(variance * (n * np.square(at)).sum()))
        p = 2.0 * min(float(chdtrc(len(n) - 1, spread)), 2.0 * float(ndtr(-abs(slope))))
        first, last = _thirds(n, total)
        low, high = (first, last) if abs(slope) > 2 else (float(means.min()), float(means.max()))
        change = abs(high - low)
        large = change > LEAST_CHANGE * math.sqrt(variance) or change > LEAST_RELATIVE * min(
            mean, self._facts.max_loss - mean
        )
        if p * len(self._facts.loggers) < LEVEL and large:
            yield Finding(
                "drift-loss",
                "mend",
                f"the mean loss of logger {name} changes over time, from {low:.3g} to {high:.3g} between the "
                f"{'first and the last third' if abs(slope) > 2 else 'best and the worst of its blocks'}",
                change,
                "learn from recent rows, and split by time, so that the test looks like the future",
            )

    def _actions(self, j: int, name: str) -> Iterator[Finding]:
        taken = self._taken[j][self.rows[j] > 0]
        often = np.argsort(-taken.sum(axis=0))[:BLOCKS]
        often = often[taken[:, often].sum(axis=0) >= 5 * len(taken)]
        n = self.rows[j][self.rows[j] > 0]
        if len(n) < 2 or not len(often):
            return
        rate = taken[:, often].sum(axis=0) / n.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.square(taken[:, often] - n[:, None] * rate) / (n[:, None] * rate * (1 - rate))
        p = chdtrc(len(n) - 1, spread.sum(axis=0))
        worst = int(np.nanargmin(np.where(rate < 1, p, 1.0)))
        rates = taken[:, often[worst]] / n
        tests = len(self._facts.loggers) * len(often)
        if p[worst] * tests < LEVEL and np.ptp(rates) > LEAST_CHANGE:
            yield Finding(
                "drift-actions",
                "note",
                f"logger {name} changes over time: it takes {self._facts.actions[often[worst]]} in "
                f"{rates.min():.0%} to {rates.max():.0%} of the rows of a block",
                float(np.ptp(rates)),
                "its propensities must be those of the time of each action",
            )


def _joined(sums: Matrix, most: float) -> Matrix:
    """Sums (3, B) of rows, losses and squares, joined until each block has some events.

    `most` is the largest loss.
    """
    share = sums[1].sum() / (most * max(1.0, sums[0].sum()))
    wanted = FEWEST_EVENTS / max(1e-9, min(share, 1.0 - share))
    found, current = [], np.zeros(3)
    for block in range(sums.shape[1]):
        current = current + sums[:, block]
        if current[0] >= wanted:
            found.append(current)
            current = np.zeros(3)
    if current[0] > 0 and found:
        found[-1] = found[-1] + current
    return np.array(found).T if found else np.zeros((3, 0))


def _thirds(n: Vector, total: Vector) -> tuple[float, float]:
    """Mean loss of the first and of the last third of the rows."""
    reached = np.cumsum(n) / n.sum()
    first = np.flatnonzero(reached <= max(1 / 3, float(reached[0])))
    last = np.flatnonzero(reached - n / n.sum() >= min(2 / 3, float(1 - n[-1] / n.sum())) - 1e-12)
    return float(total[first].sum() / n[first].sum()), float(total[last].sum() / n[last].sum())
