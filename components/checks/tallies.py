"""Counts by logger: rows, losses, propensities and actions, and what is wrong with them by themselves."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts, indicators
from multilogger.components.checks.findings import LEVEL, Finding, some
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.support import DETERMINISTIC

# Choice: the paper has no such limits.
FEWEST_ROWS = 100  # of a log
FEW_EVENTS = 10  # rows whose loss is not the usual one
TINY = 1e-6
ID_PER_ROW = 0.9  # different actions a row
SOME_ALONE, NEARLY_ALL_ALONE = 0.1, 0.9  # of a logger's rows, with actions that no other took
BINS, LOWEST = 4000, -40.0  # of log propensities, 0.01 each
LEVEL_95 = float(ndtri(0.975))


class Tallies:
    """Sums over the rows of each logger; (J,) or (J, K) each."""

    def __init__(self, facts: LogFacts) -> None:
        loggers, size = len(facts.loggers), facts.space.size
        self._facts = facts
        self.rows = np.zeros(loggers)
        self.loss = np.zeros(loggers)
        self._squares = np.zeros(loggers)
        self.least_loss, self.most_loss = np.full(loggers, np.inf), np.full(loggers, -np.inf)
        self._at_ends = np.zeros((loggers, 2))
        self._extremes = np.array([np.full(loggers, np.inf), np.full(loggers, -np.inf)])
        self._histogram = np.zeros((loggers, BINS))
        self._sure = np.zeros(loggers)
        self.taken = np.zeros((loggers, size))
        self._sides: Matrix | None = None

    def add(self, batch: CheckBatch) -> None:
        j, loggers, size = batch.logger, len(self.rows), self.taken.shape[1]
        own = np.exp(batch.log_propensity)
        self.rows += np.bincount(j, minlength=loggers)
        self.loss += np.bincount(j, batch.loss, loggers)
        self._squares += np.bincount(j, np.square(batch.loss), loggers)
        np.minimum.at(self.least_loss, j, batch.loss)
        np.maximum.at(self.most_loss, j, batch.loss)
        for end, value in enumerate((0.0, self._facts.max_loss)):
            self._at_ends[:, end] += np.bincount(j, batch.loss == value, loggers)
        np.minimum.at(self._extremes[0], j, own)
        np.maximum.at(self._extremes[1], j, own)
        place = np.clip((batch.log_propensity / LOWEST * BINS).astype(np.int64), 0, BINS - 1)
        self._histogram += np.bincount(j * BINS + place, minlength=loggers * BINS).reshape(loggers, BINS)
        self._sure += np.bincount(j, own > DETERMINISTIC, loggers)
        for rows, action in indicators(batch):
            self.taken += np.bincount(j[rows] * size + action, minlength=loggers * size).reshape(loggers, -1)
        if batch.validation is not None:
            sides = np.bincount(j * 2 + batch.validation, minlength=loggers * 2).reshape(loggers, 2)
            before = np.zeros((loggers, 2)) if self._sides is None else self._sides
            self._sides = before + sides

    @property
    def mean_loss(self) -> Vector:
        return self.loss / self.rows

    def loss_interval(self, logger: int) -> Interval:
        """Wilson's where losses are 0 or the largest, else mean ± 1.96 standard errors."""
        n, mean, most = self.rows[logger], self.mean_loss[logger], self._facts.max_loss
        if self._at_ends[logger].sum() == n:
            share, z2 = mean / most, LEVEL_95**2
            middle = (share + z2 / (2 * n)) / (1 + z2 / n)
            half = LEVEL_95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
            return Interval(most * max(0.0, middle - half), most * min(1.0, middle + half))
        variance = max(0.0, self._squares[logger] / n - mean**2)
        half = LEVEL_95 * math.sqrt(variance / n)
        return Interval(max(0.0, mean - half), min(most, mean + half))

    def propensities(self, logger: int) -> tuple[float, float, float]:
        """The least, the median (to half a per cent) and the largest."""
        reached = np.cumsum(self._histogram[logger])
        place = int(np.searchsorted(reached, 0.5 * reached[-1]))
        low, high = self._extremes[:, logger].tolist()
        return low, float(np.clip(math.exp((place + 0.5) / BINS * LOWEST), low, high)), high

    def events(self, logger: int) -> int:
        """Rows whose loss is not the usual one, where losses are 0 or the largest; else all rows."""
        ends = self._at_ends[logger]
        return int(ends.min()) if ends.sum() == self.rows[logger] else int(self.rows[logger])

    def findings(self) -> Iterator[Finding]:
        yield from self._few_rows()
        yield from self._losses()
        yield from self._deterministic()
        yield from self._tiny()
        yield from self._never_taken()

    def _few_rows(self) -> Iterator[Finding]:
        total = float(self.rows.sum())
        if total < FEWEST_ROWS:
            yield Finding(
                "few-rows",
                "mend",
                f"the log has {total:.0f} rows, {FEWEST_ROWS} are the least to learn from",
                total,
                "log more",
            )
        for name, rows in zip(self._facts.loggers, self.rows, strict=True):
            if rows < 2:
                yield Finding(
                    "empty-logger",
                    "unsafe",
                    f"logger {name} has {'a single row' if rows else 'no rows'}",
                    float(rows),
                    "drop it, or log more",
                )
        if self._sides is not None:
            for name, sides in zip(self._facts.loggers, self._sides, strict=True):
                if sides.min() == 0 and sides.sum() > 0:
                    side = "validation" if sides[1] == 0 else "training"
                    yield Finding(
                        "one-sided-logger",
                        "unsafe",
                        f"logger {name} has no {side} rows",
                        0.0,
                        "mend the column validation, or leave it out and let the rows be drawn",
                    )

    def _losses(self) -> Iterator[Finding]:
        word = self._facts.words
        varied = 0
        for j, name in enumerate(self._facts.loggers):
            if self.rows[j] < 2:
                continue
            if self.least_loss[j] == self.most_loss[j] and self._chance_of_one_loss(j) < LEVEL:
                yield Finding(
                    "constant-loss",
                    "unsafe",
                    f"the losses of logger {name} are all {self.most_loss[j]:g}, which is hardly chance",
                    float(self.most_loss[j]),
                    "mend them if a column was not filled; if they are right, weighted estimates will give "
                    "this logger no share",
                )
                continue
            varied += 1
            if (events := self.events(j)) < FEW_EVENTS:
                yield Finding(
                    "few-events",
                    "note",
                    f"only {events} of {self.rows[j]:,.0f} rows of logger {name} have another {word} than "
                    "the rest",
                    float(events),
                    "differences between policies will hardly show; log more",
                )
        total = sum(self.events(j) for j in range(len(self.rows)))
        if varied and total < FEW_EVENTS:
            yield Finding(
                "few-events-in-all",
                "mend",
                f"only {total} rows of the log have another {word} than the rest",
                float(total),
                f"wait for at least {FEW_EVENTS} of them, better some hundred",
            )

    def _chance_of_one_loss(self, logger: int) -> float:
        """That all rows of a logger have its one loss by chance, were others as seldom as with any logger."""
        one = self.most_loss[logger]
        ends = (
            self._at_ends[:, end] for end, value in enumerate((0.0, self._facts.max_loss)) if one == value
        )
        other = 1.0 - next(ends, np.zeros(len(self.rows))) / np.maximum(self.rows, 1.0)
        other = other[(other > 0) & (np.arange(len(other)) != logger)]
        return float((1.0 - other.min()) ** self.rows[logger]) if len(other) else 0.0

    def _deterministic(self) -> Iterator[Finding]:
        sure = [j for j in range(len(self.rows)) if self._sure[j] > 0.5 * self.rows[j]]
        for j in sure:
            yield Finding(
                "deterministic-logger",
                "unsafe" if len(sure) == len(self.rows) else "mend",
                f"logger {self._facts.loggers[j]} is all but deterministic (median propensity above "
                f"{DETERMINISTIC})",
                float(self._sure[j] / self.rows[j]),
                "its rows say nothing of other actions; let it explore",
            )

    def _tiny(self) -> Iterator[Finding]:
        if self._facts.choices and (least := float(self._extremes[0].min())) < TINY:
            yield Finding(
                "tiny-propensity",
                "note",
                f"the least propensity is {least:.2g}",
                least,
                "one such row can outweigh all others; use clipped or self-normalised estimates",
            )

    def _never_taken(self) -> Iterator[Finding]:
        if not self._facts.choices:
            return
        taken = self.taken.sum(axis=0)
        different, rows = int((taken > 0).sum()), float(self.rows.sum())
        if rows >= FEWEST_ROWS and different > ID_PER_ROW * rows:
            yield Finding(
                "action-per-row",
                "unsafe",
                f"{different:,} different actions in {rows:,.0f} rows: nearly every row has one of its own",
                different / rows,
                "such a column is an id, not a choice; name the one that says what was done with --action",
            )
            return
        if never := int((taken == 0).sum()):
            first = self._facts.actions[int(np.argmin(taken))]
            yield Finding(
                "never-taken",
                "note",
                f"{never} of {self._facts.space.size} actions were never taken, the first being {first}",
                float(never),
                "no row says what they cost",
            )
        if len(self.rows) > 1:
            yield from self._alone()

    def _alone(self) -> Iterator[Finding]:
        """Actions that one logger alone took."""
        for j, name in enumerate(self._facts.loggers):
            alone = (self.taken[j] > 0) & (np.delete(self.taken, j, axis=0).sum(axis=0) == 0)
            share = float(self.taken[j][alone].sum() / max(1.0, self.taken[j].sum()))
            if share > SOME_ALONE:
                names = some(self._facts.actions[a] for a in np.flatnonzero(alone))
                apart = share > NEARLY_ALL_ALONE
                yield Finding(
                    "no-overlap" if apart else "taken-by-one",
                    "mend" if apart else "note",
                    f"{share:.0%} of the rows of logger {name} have actions that no other logger took "
                    f"({names})",
                    share,
                    "what these cost rests on its rows alone; let the loggers explore each other's actions",
                )
