"""A seeded sample of a log's rows with their features: the rows with the smallest random numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.checks.batches import CheckBatch, LogFacts, Places
from multilogger.components.estimators.logged_batch import Loggers

MOST_ROWS = 20_000
MOST_NUMBERS = 20_000_000  # 80 MB of features


@dataclass(frozen=True)
class SampledRows:
    """Rows of a log, (m,) each, with features `x` (m, d)."""

    logger: Loggers
    action: Actions
    loss: Vector
    log_propensity: Vector
    group: Places
    x: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.loss)


class Sample:
    """Takes a sample without replacement of a stream, all rows with the same chance."""

    def __init__(self, facts: LogFacts, seed: int = 0) -> None:
        self._most = max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, len(facts.features))))
        self._rng = np.random.default_rng(seed)
        self._draws = np.empty(0)
        self._parts: list[NDArray[np.generic]] = []

    def add(self, batch: CheckBatch) -> None:
        draws = self._rng.random(len(batch))
        limit = self._draws.max() if len(self._draws) == self._most else 1.0
        rows = np.flatnonzero(draws <= limit)
        if len(rows) > self._most:
            rows = np.sort(rows[np.argsort(draws[rows], kind="stable")[: self._most]])
        new = [
            batch.logger[rows],
            batch.action[rows],
            batch.loss[rows],
            batch.log_propensity[rows],
            batch.group[rows],
            batch.features(rows),
        ]
        draws = np.r_[self._draws, draws[rows]]
        joined = [np.concatenate(pair) for pair in zip(self._parts, new, strict=True)] if self._parts else new
        keep = np.sort(np.argsort(draws, kind="stable")[: self._most])
        self._draws, self._parts = draws[keep], [part[keep] for part in joined]

    def rows(self) -> SampledRows:
        logger, action, loss, log_propensity, group, x = self._parts
        return SampledRows(
            logger=np.asarray(logger, dtype=np.int64),
            action=np.asarray(action, dtype=np.int64),
            loss=np.asarray(loss, dtype=np.float64),
            log_propensity=np.asarray(log_propensity, dtype=np.float64),
            group=np.asarray(group, dtype=np.int64),
            x=np.asarray(x, dtype=np.float32),
        )
