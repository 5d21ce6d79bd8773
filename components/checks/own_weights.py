"""Are the propensities right? The weights 1/p of each logger's own rows, by action.

1{y = a} / h_j(y|x) on the rows of logger j has mean 1 for every action that it can always take, and at most 1
for every other. Betting on a larger mean gives a test that holds for any tail of the weights: the product of
1 + b (w - 1) over rows exceeds 1/p with a chance of p at most. The mean of 1/p is the number of actions.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import logsumexp, ndtri

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts
from multilogger.components.checks.findings import LEVEL, Finding
from multilogger.components.checks.pareto import GOOD
from multilogger.components.evaluation.support import DETERMINISTIC

BETS = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
OFF = 0.05  # a smaller error in all propensities is hardly worth a word
FAR_OFF = 0.5  # above it a weight is wrong by so much that estimates are
FEWEST_TAKEN = 30
GAP = 20.0  # see `_too_large`


class OwnWeights:
    """Sums by logger and action, from which every test follows; nothing of label vectors."""

    def __init__(self, facts: LogFacts) -> None:
        loggers, size = len(facts.loggers), facts.space.size
        self._facts = facts
        self._count = np.zeros((loggers, size))
        self._sum = np.zeros((loggers, size))
        self._squares = np.zeros((loggers, size))
        self._least = np.full((loggers, size), np.inf)
        self._bets = np.zeros((len(BETS), loggers, size))
        self._whole_bets = np.zeros((len(BETS), loggers))

    def add(self, batch: CheckBatch) -> None:
        if not self._facts.choices:
            return
        loggers, size = self._sum.shape
        cell = batch.logger * size + batch.action
        own = np.exp(batch.log_propensity)
        w = 1.0 / np.maximum(own, np.finfo(np.float64).tiny)

        def add(to: Matrix, values: Vector | None = None) -> None:
            to += np.bincount(cell, values, loggers * size).reshape(loggers, size)

        add(self._count)
        add(self._sum, w)
        with np.errstate(over="ignore"):
            add(self._squares, np.square(w))
        np.minimum.at(self._least.reshape(-1), cell, own)
        for i, bet in enumerate(BETS):
            add(self._bets[i], np.log1p(bet * (w - 1.0)))
            self._whole_bets[i] += np.bincount(batch.logger, np.log1p(bet * (w / size - 1.0)), loggers)

    @property
    def means(self) -> Matrix:
        """The mean of 1{y = a} / h_j on the rows of each logger: (J, K)."""
        return np.asarray(self._sum / np.maximum(1.0, self._facts.counts[:, None]))

    def findings(self, tails: Sequence[float]) -> Iterator[Finding]:
        """`tails` are the Pareto-k of each logger's weights."""
        if not self._facts.choices:
            return
        facts, means = self._facts, self.means
        loggers, size = means.shape
        others = (facts.counts[:, None] - self._count)[None] * np.log1p(-BETS)[:, None, None]
        log_e = logsumexp(self._bets + others, axis=0) - math.log(len(BETS))
        whole = logsumexp(self._whole_bets, axis=0) - math.log(len(BETS))
        limit = math.log(2 * loggers * size / LEVEL)
        for j, name in enumerate(facts.loggers):
            over = np.flatnonzero((log_e[j] > limit) & (means[j] > 1 + OFF))
            mean = float(means[j].mean())
            if len(over) <= 1 and whole[j] > math.log(2 * loggers / LEVEL) and mean > 1 + OFF:
                yield _too_small(f"logger {name}", mean, f"all {size} actions together")
            elif len(over):
                worst = int(over[np.argmax(means[j][over])])
                more = f", and of {len(over) - 1} more actions" if len(over) > 1 else ""
                yield _too_small(
                    f"logger {name}", float(means[j, worst]), f"action {facts.actions[worst]}{more}"
                )
            if not tails[j] > GOOD:
                yield from self._too_large(j, name)

    def _too_large(self, j: int, name: str) -> Iterator[Finding]:
        """A mean below 1 that rows which were not seen do not explain.

        A share m of contexts whose propensities of the action are below 3/(n m) shows no row at all. Where
        propensities reach down to nothing, no row is then missing; where the least one that was seen stands
        far above it, these contexts would be a kind of their own.
        """
        n, mean = self._facts.counts[j], self.means[j]
        lacking = np.maximum(1.0 - mean, 1e-12)
        variance = np.maximum(self._squares[j] / n - np.square(mean), 0.0)
        limit = float(ndtri(1.0 - LEVEL / (2 * self.means.size)))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = lacking / np.sqrt(variance / n)
        seen = (self._count[j] >= FEWEST_TAKEN) & (self._least[j] > GAP / (n * lacking))
        seen &= self._least[j] < DETERMINISTIC  # a logger that never draws is told of elsewhere
        under = np.flatnonzero(seen & (z > limit) & (lacking > 2 * OFF))
        if len(under):
            worst = int(under[np.argmin(mean[under])])
            more = f" and {len(under) - 1} more" if len(under) > 1 else ""
            yield Finding(
                "propensities-too-large",
                "mend",
                f"the weights 1/p of logger {name} for action {self._facts.actions[worst]}{more} have the "
                f"mean {mean[worst]:.3f} where 1 is expected",
                float(mean[worst]),
                "its propensities are too large, or it cannot always take the action; log the probability "
                "at the time of the action, or list which actions were possible",
            )


def _too_small(who: str, mean: float, what: str) -> Finding:
    return Finding(
        "propensities-too-small",
        "unsafe" if mean > 1 + FAR_OFF else "mend",
        f"the weights 1/p of {who} for {what} have the mean {mean:.3f} where at most 1 is possible",
        mean,
        "its propensities are too small; log the probability at the time of the action, or estimate them",
    )
