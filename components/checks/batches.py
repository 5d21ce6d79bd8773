"""A log as the looks take it: facts that are known beforehand, and rows batch by batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.estimators.weights import log_mixture

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
GROUPS = 100  # of contexts, whose sums are as good as independent


@dataclass(frozen=True)
class LogFacts:
    """What is known of a log before its rows are looked at.

    `counts` (J,) are the rows of each logger; `time_range` is there where rows have a time. `contexts_known`
    says that rows name their contexts; else rows with the same features are taken for the same context. In
    rows of the loggers `unlogged` a figure may stand in for the propensity.
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
    policies_known: bool = True
    time_edges: Vector | None = None
    words: str = "loss"
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


def mixed(numbers: NDArray[Any]) -> Keys:
    """Whole numbers as keys that look random, the same number always the same key (splitmix64)."""
    key = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def feature_keys(x: Any) -> Keys:
    """A key per row of features (m, d), dense or sparse; equal rows have equal keys."""
    factors = mixed(np.arange(x.shape[1], dtype=np.uint64)) | np.uint64(1)
    if sparse.issparse(x):
        matrix: Any = x
        table: Any = sparse.csr_array(matrix)
        bits = mixed(np.asarray(table.data, dtype=np.float32).view(np.uint32)) * factors[table.indices]
        sums = np.r_[np.uint64(0), np.cumsum(bits, dtype=np.uint64)]
        return mixed(sums[table.indptr[1:]] - sums[table.indptr[:-1]])
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return mixed((bits * factors).sum(axis=1, dtype=np.uint64))


def indicators(batch: CheckBatch) -> Iterator[tuple[Places, Places]]:
    """Rows and the action or labels that each took, as pairs of places: (row, action)."""
    if batch.facts.choices:
        yield np.arange(len(batch)), batch.action.astype(np.int64)
    else:
        rows, labels = np.nonzero(batch.action)
        yield rows, labels
