"""What the rows of each logger say of others: of a uniform policy, and of the other loggers.

Where the propensities under every logger are known, a logger's policy is judged by the rows of the others, as
a new policy would be: h_j over the average of the others, on their rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts
from multilogger.components.checks.findings import Finding
from multilogger.components.checks.pareto import BEARABLE, pareto_k, tail_size, tail_words
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.support import Overlap

LEAST_COVERED = 0.1  # of what a logger does, by the rows of the others
LEAST_EFFECTIVE = 0.002  # of their rows
LARGEST_LOG = 700.0


@dataclass
class WeightSums:
    """Sums of weights from which their overlap follows, and the largest of them for their tail."""

    tail: int
    rows: int = 0
    total: float = 0.0
    squares: float = 0.0
    largest: Vector | None = None

    def add(self, log_weights: Vector) -> None:
        if not len(log_weights):
            return
        weights = np.exp(np.minimum(log_weights, LARGEST_LOG / 2))
        self.rows += len(weights)
        self.total += float(weights.sum())
        self.squares += float(weights @ weights)
        top = weights if self.largest is None else np.r_[self.largest, weights]
        keep = self.tail + 1
        self.largest = np.partition(top, -keep)[-keep:] if len(top) > keep else top

    def overlap(self) -> Overlap:
        if not self.rows:
            return Overlap(0.0, float("nan"), 0.0, 0.0)
        n, mean = self.rows, self.total / self.rows
        variance = max(0.0, self.squares - self.total * mean) / (n - 1) if n > 1 else float("nan")
        most = 0.0 if self.largest is None else float(self.largest.max())
        return Overlap(
            mean_weight=mean,
            standard_error=float(np.sqrt(variance / n)),
            effective_rows=self.total**2 / self.squares if self.squares > 0 else 0.0,
            largest_share=most / self.total if self.total > 0 else 0.0,
        )

    def k(self) -> float:
        return float("nan") if self.largest is None else pareto_k(self.largest)


class Coverage:
    """`uniform` is a uniform policy on each logger's own rows; `others` each logger on the others' rows;
    `whole` a uniform policy over h_avg on all rows."""

    def __init__(self, facts: LogFacts) -> None:
        self._facts = facts
        self._uniform = -np.log(facts.space.size) if facts.choices else -facts.space.size * np.log(2.0)
        tails = [tail_size(int(rows)) for rows in facts.counts]
        self.uniform = [WeightSums(tail) for tail in tails]
        several = facts.all_propensities and len(facts.loggers) > 1
        self.others = [WeightSums(tail_size(facts.rows - int(n))) for n in facts.counts] if several else []
        self.whole = WeightSums(tail_size(facts.rows))

    def add(self, batch: CheckBatch) -> None:
        table = batch.log_propensities
        for j, sums in enumerate(self.uniform):
            sums.add(self._uniform - batch.log_propensity[batch.logger == j])
        if table is not None and batch.log_average is not None:
            self.whole.add(self._uniform - batch.log_average)
        for j, sums in enumerate(self.others):
            if table is not None:
                rows = batch.logger != j
                theirs = log_mixture(np.delete(table[rows], j, axis=1), np.delete(self._facts.counts, j))
                sums.add(table[rows, j] - theirs)

    def findings(self) -> Iterator[Finding]:
        for j, sums in enumerate(self.others):
            over = sums.overlap()
            # A few rows with huge weights bring the mean up; equal tiny weights bring the effective rows up.
            if over.mean_weight < LEAST_COVERED or over.effective_rows < LEAST_EFFECTIVE * sums.rows:
                yield Finding(
                    "no-overlap",
                    "mend" if self._facts.choices else "note",
                    f"the other loggers' {sums.rows:,} rows are worth {over.effective_rows:,.0f} for what "
                    f"logger {self._facts.loggers[j]} does (mean weight {over.mean_weight:.3f} where 1 is "
                    "expected)",
                    over.mean_weight,
                    "its actions rest on its own rows alone; let the loggers explore each other's actions",
                )
        for j, sums in enumerate(self.uniform):
            if (k := sums.k()) > BEARABLE:
                yield Finding(
                    "heavy-weights",
                    "note",
                    f"the weights 1/p of logger {self._facts.loggers[j]} have a tail of Pareto-k {k:.2f}, "
                    f"{tail_words(k)}",
                    k,
                    "a policy far from it cannot be judged by its rows; clip, or stay close to the loggers",
                )
