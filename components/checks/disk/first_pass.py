"""The first pass over a log on disk: who acted, what was done, and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.checks.drift import block_edges
from multilogger.components.errors import BadInput

Coded = tuple[list[Any], NDArray[np.int64]]
MOST_TIMES = 100_000


@dataclass
class Found:
    """Loggers and actions in ascending order, rows of each logger (J,), and counts of actions (J, K)."""

    loggers: list[Any]
    actions: Sequence[Any]
    size: int
    counts: Vector
    taken: Matrix
    labels: bool
    low: float
    high: float
    is_reward: bool
    missing: int
    edges: Vector | None
    by_place: bool = False

    def most_loss(self, size: int) -> float:
        """The largest loss there may be: by rewards; else 1, the number of labels, or what was seen."""
        if self.is_reward:
            return max(self.high - self.low, 1e-12)
        return max(self.high, float(size) if self.labels else 1.0)

    def logger_of(self, coded: Coded | None, rows: int) -> NDArray[np.int64]:
        if coded is None:
            return np.zeros(rows, dtype=np.int64)
        return np.array([self.loggers.index(one) for one in coded[0]], dtype=np.int64)[coded[1]]

    def action_of(self, coded: Coded) -> NDArray[np.int64]:
        """The number of each action; `by_place` says that the column has numbers already."""
        place = {_key(one): number for number, one in enumerate(self.actions)}
        numbers = [one if self.by_place else place[_key(one)] for one in coded[0]]
        return np.array(numbers, dtype=np.int64)[coded[1]]

    def log_share(self, logger: NDArray[np.int64], action: Actions) -> Vector:
        """Log of the share of the action, or of all its labels, among the rows of the logger: (m,)."""
        share = (self.taken + 0.5) / (self.counts[:, None] + 1.0)
        if not self.labels:
            return np.asarray(np.log(share[logger, action]))
        chosen = np.where(action == 1, share[logger], 1.0 - share[logger])
        return np.asarray(np.log(chosen).sum(axis=1))


class FirstPass:
    """Gathers what `Found` has, a batch at a time; `stated` are names of actions that the files say."""

    def __init__(self, labels: bool, stated: Sequence[str] | None, is_reward: bool) -> None:
        self._labels, self._stated, self._is_reward = labels, stated, is_reward
        self._counts: dict[Any, int] = {}
        self._pairs: dict[tuple[Any, Any], int] = {}
        self._sums: dict[Any, Vector] = {}
        self._low, self._high, self._missing = np.inf, -np.inf, 0
        self._times: list[Vector] = []
        self._rng = np.random.default_rng(0)

    def add(
        self, logger: Coded | None, action: Coded | Matrix, outcome: Vector, own: Vector, time: Vector | None
    ) -> None:
        names, who = logger or (["logger"], np.zeros(len(outcome), dtype=np.int64))
        for j, name in enumerate(names):
            mine = who == j
            self._counts[name] = self._counts.get(name, 0) + int(mine.sum())
            if isinstance(action, np.ndarray):
                self._sums[name] = self._sums.get(name, 0.0) + action[mine].sum(axis=0)
                continue
            for place, count in enumerate(np.bincount(action[1][mine], minlength=len(action[0]))):
                key = name, action[0][place]
                self._pairs[key] = self._pairs.get(key, 0) + int(count)
        self._low, self._high = min(self._low, float(outcome.min())), max(self._high, float(outcome.max()))
        self._missing += int(np.isnan(own).sum())
        if time is not None:
            self._times.append(time)
            if sum(map(len, self._times)) > 4 * MOST_TIMES:
                kept = np.concatenate(self._times)
                self._times = [self._rng.choice(kept, 2 * MOST_TIMES, replace=False)]

    def found(self, label_names: Sequence[str] | None) -> Found:
        if not self._counts:
            raise BadInput("the log has no rows; check the filter that made it")
        loggers = sorted(self._counts, key=_key)
        counts = np.array([self._counts[name] for name in loggers], dtype=np.float64)
        actions: Sequence[Any]
        by_place = False
        if self._labels:
            taken = np.stack([self._sums[name] for name in loggers])
            actions = label_names or [f"action_{i}" for i in range(taken.shape[1])]
        else:
            seen = sorted({action for _, action in self._pairs}, key=_key)
            by_place = self._stated is not None and all(isinstance(one, int) for one in seen)
            actions = tuple(self._stated) if by_place and self._stated is not None else seen
            columns = range(len(actions)) if by_place else seen
            if by_place and not 0 <= min(seen) <= max(seen) < len(actions):
                raise BadInput(
                    f"an action is a number from 0 to {len(actions) - 1}, by the schema, got {max(seen)}"
                )
            taken = np.array([[self._pairs.get((name, a), 0) for a in columns] for name in loggers], float)
            if len(actions) < 2:
                raise BadInput(f"the action is {seen[0]!r} in every row; a choice needs two actions or more")
        times = np.concatenate(self._times) if self._times else None
        return Found(
            loggers=loggers,
            actions=actions,
            size=taken.shape[1],
            counts=counts,
            taken=taken,
            labels=self._labels,
            low=self._low,
            high=self._high,
            is_reward=self._is_reward,
            missing=self._missing,
            edges=None if times is None else block_edges(times),
            by_place=by_place,
        )


def _key(one: Any) -> tuple[str, Any]:
    """Python takes True for 1, and cannot order numbers and words."""
    return type(one).__name__, one
