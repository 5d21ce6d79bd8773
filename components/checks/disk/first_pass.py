"""The first pass over a log on disk: who acted, what was done, and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.checks.drift import block_edges
from multilogger.components.errors import BadInput
from multilogger.components.log.actions import places_of
from multilogger.components.log.unreadable import Distinct
from multilogger.components.own_log.survey import listed_ids, order_labels

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
    missing: int
    unlogged: frozenset[str]
    edges: Vector | None

    def logger_of(self, who: Distinct) -> NDArray[np.int64]:
        return np.array([self.loggers.index(one) for one in who.values], dtype=np.int64)[who.place]

    def action_of(self, done: Distinct) -> NDArray[np.int64]:
        return places_of(done.values, self.actions)[done.place]

    def log_share(self, logger: NDArray[np.int64], action: Actions) -> Vector:
        """Log of the share of the action, or of all its labels, among the rows of the logger: (m,)."""
        share = (self.taken + 0.5) / (self.counts[:, None] + 1.0)
        if not self.labels:
            return np.asarray(np.log(share[logger, action]))
        chosen = np.where(action == 1, share[logger], 1.0 - share[logger])
        return np.asarray(np.log(chosen).sum(axis=1))


class FirstPass:
    """Gathers what `Found` has, a batch at a time; `stated` are all possible actions, where known."""

    def __init__(self, labels: bool, stated: Sequence[str]) -> None:
        self._labels, self._stated = labels, stated
        self._counts: dict[Any, int] = {}
        self._pairs: dict[tuple[Any, Any], int] = {}
        self._sums: dict[Any, Vector] = {}
        self._low, self._high, self._missing = np.inf, -np.inf, 0
        self._unlogged: set[str] = set()
        self._times: list[Vector] = []
        self._rng = np.random.default_rng(0)

    def add(
        self,
        logger: Distinct,
        action: Distinct | Matrix,
        outcome: Vector,
        missing: NDArray[np.bool_],
        time: Vector | None,
    ) -> None:
        for j, name in enumerate(logger.values):
            mine = logger.place == j
            self._counts[name] = self._counts.get(name, 0) + int(mine.sum())
            if missing[mine].any():
                self._unlogged.add(str(name))
            if isinstance(action, np.ndarray):
                self._sums[name] = self._sums.get(name, 0.0) + action[mine].sum(axis=0)
                continue
            for place, count in enumerate(np.bincount(action.place[mine], minlength=len(action.values))):
                key = name, action.values[place]
                self._pairs[key] = self._pairs.get(key, 0) + int(count)
        self._low, self._high = min(self._low, float(outcome.min())), max(self._high, float(outcome.max()))
        self._missing += int(missing.sum())
        if time is not None:
            self._times.append(time)
            if sum(map(len, self._times)) > 4 * MOST_TIMES:
                kept = np.concatenate(self._times)
                self._times = [self._rng.choice(kept, 2 * MOST_TIMES, replace=False)]

    def found(self, label_names: Sequence[str] | None) -> Found:
        if not self._counts:
            raise BadInput("the log has no rows; check the filter that made it")
        loggers = sorted(self._counts, key=order_labels)
        counts = np.array([self._counts[name] for name in loggers], dtype=np.float64)
        actions: Sequence[Any]
        if self._labels:
            taken = np.stack([self._sums[name] for name in loggers])
            actions = label_names or [f"action_{i}" for i in range(taken.shape[1])]
        else:
            seen = sorted({action for _, action in self._pairs}, key=order_labels)
            if len(seen) < 2 and len(self._stated) < 2:
                raise BadInput(
                    f"the action is {seen[0]!r} in every row; a choice needs two actions or more: list those "
                    "that nobody took with --all-actions"
                )
            actions = listed_ids(self._stated, seen) if self._stated else seen
            known = set(actions)
            if unknown := [one for one in seen if one not in known]:
                raise BadInput(
                    f"action {unknown[0]!r} is not among the {len(actions)} of --all-actions; add it, or "
                    "drop its rows"
                )
            taken = np.array([[self._pairs.get((name, a), 0) for a in actions] for name in loggers], float)
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
            missing=self._missing,
            unlogged=frozenset(self._unlogged),
            edges=None if times is None else block_edges(times),
        )
