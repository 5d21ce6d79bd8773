"""What the loss model of one-of-K actions is fitted to: sums over the rows of each context and action."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.learners.loss_models.form import log_loss

PairRows = tuple[NDArray[np.int64], Actions, Vector]
"""Context, action and loss of some rows, (n,) each."""
MERGED_PAIRS = 1_000_000  # waiting ones are summed up when there are this many
ENOUGH_CHANCES = 10.0  # contradictions that independent actions would have shown on average


class RightActions(StrEnum):
    """How many actions of a context may be right."""

    ONE = "one"
    ANY = "any"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class PairSums:
    """Rows and their summed losses for each context and action that occur together, (p,) each.

    They are all that a fit needs, however many rows there are.
    """

    context: NDArray[np.int64]
    action: NDArray[np.int64]
    count: Vector
    loss: Vector

    @classmethod
    def of(cls, rows: Iterable[PairRows], actions: int) -> "PairSums":
        """From one pass over rows in any lots."""
        kept: Matrix = np.empty((3, 0))
        waiting: list[Matrix] = []
        for context, action, delta in rows:
            keys = context.astype(np.int64) * actions + action
            waiting.append(np.stack([keys.astype(np.float64), np.ones(len(delta)), delta]))
            if sum(lot.shape[1] for lot in waiting) > MERGED_PAIRS:
                kept, waiting = _merged([kept, *waiting]), []
        keys, count, loss = _merged([kept, *waiting])
        context, action = np.divmod(keys.astype(np.int64), actions)
        return cls(context, action, count, loss)

    @classmethod
    def of_truth(cls, truth: Actions) -> "PairSums":
        """One row per context, of the right action (m,)."""
        return cls(np.arange(len(truth)), truth.astype(np.int64), np.ones(len(truth)), np.zeros(len(truth)))

    def total_score(self, p: Matrix) -> float:
        """The sum of the log losses of the rows, with p (m, K) at all contexts."""
        return float(log_loss(p[self.context, self.action], self.count - self.loss, self.loss).sum())

    def right_actions(self) -> RightActions:
        """Whether one action alone is right at each context, as far as the rows can tell.

        A context with two right actions, an action that is now right and now wrong, or a loss between 0 and 1
        says no. If none is found where independent actions would have shown ten, the answer is yes.
        """
        right = self.count - self.loss
        whole = (self.loss == 0) | (self.loss == self.count)
        found = np.bincount(self.context, right > 0)
        if not whole.all() or found.max(initial=0) > 1:
            return RightActions.ANY
        others = np.bincount(self.context)[self.context[right > 0]] - 1
        expected = float(others.sum()) * float((right > 0).mean())
        return RightActions.ONE if expected >= ENOUGH_CHANCES else RightActions.UNKNOWN


def _merged(lots: Sequence[Matrix]) -> Matrix:
    """Sums by key: (3, p) of keys in ascending order, counts and losses."""
    keys, count, loss = np.concatenate(lots, axis=1)
    found, place = np.unique(keys, return_inverse=True)
    return np.stack([found, np.bincount(place, count, len(found)), np.bincount(place, loss, len(found))])
