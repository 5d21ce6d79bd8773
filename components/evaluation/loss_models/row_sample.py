"""The bounded sample of a log's rows, with the features of their contexts, that a network is fitted to."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.loss_models.cross_fitting import Block, ModelRows

Contexts = NDArray[np.int64]


@dataclass(frozen=True)
class RowSample:
    """Rows with their contexts by place, and loggers numbered without gaps.

    Each of p contexts has one place: its number in the log in `kept` (p,), its features in `x` (p, d).
    """

    kept: Contexts
    x: NDArray[np.float32]
    context: Contexts
    logits: Matrix
    action: Actions
    delta: Vector
    logger: Loggers
    counts: Vector


class RowSampler:
    """Draws which rows to keep beforehand, then takes them as the log passes by."""

    def __init__(self, rows: int, contexts: int, most: int, rng: np.random.Generator) -> None:
        self.size = min(rows, most)
        self._sampled = np.zeros(rows, dtype=np.bool_)
        self._sampled[rng.permutation(rows)[: self.size]] = True
        self._seen = 0
        self._parts: list[ModelRows] = []
        self._x: list[NDArray[np.float32]] = []
        self._place = np.full(contexts, -1)  # where the features of a context stand in _x

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows, and their features where they come along."""
        here = self._sampled[self._seen : self._seen + len(rows.delta)]
        self._seen += len(rows.delta)
        self._parts.append(
            ModelRows(
                rows.context[here], rows.logger[here], rows.logits[here], rows.action[here], rows.delta[here]
            )
        )
        if rows.x is not None:
            self._keep_features(rows.context[here], rows.x[here])

    def pick_features(self, blocks: Iterable[Block]) -> None:
        """Keep the features of the sampled rows' contexts, where they stand apart from the rows."""
        wanted = np.zeros(len(self._place) + 1, dtype=np.bool_)  # the last is for -1, not in the log
        for part in self._parts:
            wanted[part.context] = True
        for context, x in blocks:
            here = wanted[context]
            self._keep_features(context[here], x[here])

    def take(self) -> RowSample:
        """Hand over what was kept, and hold it no longer."""
        parts, x, known = self._parts, self._x, np.flatnonzero(self._place >= 0)
        self._parts, self._x = [], []
        _, logger = np.unique(np.concatenate([part.logger for part in parts]), return_inverse=True)
        return RowSample(
            kept=known[np.argsort(self._place[known])],
            x=np.concatenate(x),
            context=self._place[np.concatenate([part.context for part in parts])],
            logits=np.concatenate([part.logits for part in parts]),
            action=np.concatenate([part.action for part in parts]),
            delta=np.concatenate([part.delta for part in parts]),
            logger=logger,
            counts=np.bincount(logger).astype(np.float64),
        )

    def _keep_features(self, context: Contexts, x: NDArray[np.float32]) -> None:
        """Features of contexts that are not known yet, once each."""
        new, first = np.unique(context, return_index=True)
        first, new = first[self._place[new] < 0], new[self._place[new] < 0]
        self._place[new] = np.arange(len(new)) + sum(len(block) for block in self._x)
        self._x.append(x[first])
