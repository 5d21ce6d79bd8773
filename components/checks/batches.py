"""A log as the looks take it: facts that are known beforehand, and rows batch by batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.log.keys import Keys
from multilogger.components.loss_text import loss_text

Places = NDArray[np.int64]
GROUPS = 100  # of contexts, whose sums are as good as independent


@dataclass(frozen=True)
class LogFacts:
    """What is known of a log before its rows are looked at.

    `counts` (J,) are the rows of each logger; `time_range` is there where rows have a time. `contexts_known`
    says that rows name their contexts; else rows with the same features are taken for the same context. In
    rows of the loggers `unlogged` a figure may stand in for the propensity. `loss` says what a loss is.
    """

    title: str
    loggers: tuple[str, ...]
    actions: tuple[str, ...]
    space: ActionSpace
    features: tuple[str, ...]
    counts: Vector
    max_loss: float
    contexts_known: bool
    all_propensities: bool
    time_edges: Vector | None = None
    words: str = "loss"
    loss: str = loss_text(None)
    unlogged: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def choices(self) -> bool:
        """Whether an action is one of K."""
        return not self.space.action_shape


@dataclass(frozen=True)
class CheckBatch:
    """Some rows: columns (m,), `log_propensities` (m, J), a key per `context`, `features` by place."""

    facts: LogFacts
    logger: Loggers
    action: Actions
    loss: Vector
    log_propensity: Vector
    log_propensities: Matrix | None
    context: Keys
    features: Callable[[Places], NDArray[np.float32]]
    time: Vector | None = None
    validation: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.loss)

    @cached_property
    def group(self) -> Places:
        """The group of each row's context: (m,)."""
        return (self.context % np.uint64(GROUPS)).astype(np.int64)

    @cached_property
    def log_average(self) -> Vector | None:
        """log h_avg of each row: (m,)."""
        every = self.log_propensities
        return None if every is None else log_mixture(every, self.facts.counts)


class CheckedLog(Protocol):
    """A log in memory or on disk; its batches come in the same order whenever they are asked for."""

    @property
    def facts(self) -> LogFacts: ...

    def batches(self) -> Iterator[CheckBatch]: ...


def indicators(batch: CheckBatch) -> Iterator[tuple[Places, Places]]:
    """Rows and the action or labels that each took, as pairs of places: (row, action)."""
    if batch.facts.choices:
        yield np.arange(len(batch)), batch.action.astype(np.int64)
    else:
        rows, labels = np.nonzero(batch.action)
        yield rows, labels
