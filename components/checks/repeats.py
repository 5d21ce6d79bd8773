"""Rows that stand twice, and contexts that are few.

Two rows of one context and one logger have the same action with the probability of that action. Where they
have it more often, rows were copied, or the logger did not draw anew. Of a logger whose propensities were not
logged nothing is expected. To stay within memory, contexts are sampled by their keys: of a context that is
kept, all rows are.
"""

import math
from collections.abc import Iterator

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts
from multilogger.components.checks.findings import LEVEL, Finding
from multilogger.components.evaluation.guards import FEWEST_CONTEXTS
from multilogger.components.log.keys import Keys, mixed

MOST_ROWS = 200_000
LEAST_SHARE = 0.002  # of rows that are copies
ALL = 2**64


class Repeats:
    """Keys, actions and propensities of the rows of a sample of contexts."""

    def __init__(self, facts: LogFacts) -> None:
        self._facts = facts
        self._limit = ALL - 1
        self._kept = 0
        self._rows = 0
        self._parts: list[tuple[Keys, Keys, Keys, Vector]] = []
        self._untold = np.array([name in facts.unlogged for name in facts.loggers])

    def add(self, batch: CheckBatch) -> None:
        self._rows += len(batch)
        rows = np.flatnonzero(batch.context <= np.uint64(self._limit))
        action = batch.action[rows]
        if action.ndim == 2:
            factors = mixed(np.arange(action.shape[1], dtype=np.uint64)) | np.uint64(1)
            action = (action.astype(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
        context = batch.context[rows]
        pair = mixed(context ^ mixed(batch.logger[rows]))
        own = np.where(self._untold[batch.logger[rows]], np.nan, batch.log_propensity[rows])
        self._parts.append((context, pair, action.astype(np.uint64), own))
        self._kept += len(rows)
        while self._kept > MOST_ROWS and self._limit > 1:
            self._limit //= 2
            kept = [part[0] <= np.uint64(self._limit) for part in self._parts]
            self._parts = [
                (c[keep], p[keep], a[keep], w[keep])
                for (c, p, a, w), keep in zip(self._parts, kept, strict=True)
            ]
            self._kept = sum(len(part[0]) for part in self._parts)

    @property
    def contexts(self) -> int:
        """Different contexts of the log, an estimate where they are too many to count."""
        keys = [part[0] for part in self._parts]
        distinct = len(np.unique(np.concatenate(keys))) if keys else 0
        return round(distinct * (ALL / (self._limit + 1)))

    def findings(self) -> Iterator[Finding]:
        yield from self._few_contexts()
        _, pairs, actions, own = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(pairs, kind="stable")
        follows = (pairs[order][1:] == pairs[order][:-1]) & ~np.isnan(own[order][1:])
        if not follows.any():
            return
        same = (actions[order][1:] == actions[order][:-1])[follows]
        p = np.exp(own[order][:-1][follows])
        excess = float(same.sum() - p.sum())
        share = excess / len(own)
        if excess <= 0 or share <= LEAST_SHARE:
            return
        # Bernstein's inequality of a sum of bounded terms with mean 0
        spread = float((p * (1.0 - p)).sum())
        if excess**2 / (2.0 * (spread + excess / 3.0)) > -math.log(LEVEL):
            kind = "the same context" if self._facts.contexts_known else "the same features"
            yield Finding(
                "repeated-rows",
                "mend",
                f"{len(p):,} rows follow one of {kind} and logger, and {int(same.sum()):,} of them repeat "
                f"its action where {p.sum():,.0f} are expected",
                share,
                "drop copies of rows; if the logger keeps its action for a context, keep one row of each",
            )

    def _few_contexts(self) -> Iterator[Finding]:
        contexts = self.contexts
        if self._facts.contexts_known and contexts < FEWEST_CONTEXTS and self._rows >= 2 * contexts:
            yield Finding(
                "few-contexts",
                "mend",
                f"the {self._facts.rows:,} rows name only {contexts} different contexts, {FEWEST_CONTEXTS} "
                "are the least for an interval",
                float(contexts),
                "give each context its own id, or leave the column context out",
            )
