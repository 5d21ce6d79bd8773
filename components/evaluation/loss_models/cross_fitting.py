"""What a model of the loss is shown of a log, and what is asked of it: cross-fitting by context."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.logged_batch import Loggers

FOLDS = 5
RIDGE = 1.0  # in rows: terms lie in [-1, 1], so one row's worth of pull towards 0
FREE = 1e-9  # the mean loss is not shrunk

Folds = NDArray[np.int64]
Block = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Numbers of contexts (b,), -1 if not in the log, and their features (b, d)."""
Apart = Callable[[], Iterator[Block]]
"""Reads the features of all contexts, where they do not stand in the rows."""


@dataclass(frozen=True)
class ModelRows:
    """Some rows of a log in its order: context (m,) and logger (m,) from 0, the policy's logits (m, size),
    actions and losses (m,); `x` (m, d) where features stand in the rows. `chances` (m, size) are the policy's
    probabilities, where somebody knows them already; `log_weight` (m,) is log h/h_avg, where it is known.
    """

    context: NDArray[np.int64]
    logger: Loggers
    logits: Matrix
    action: Actions
    delta: Vector
    x: NDArray[np.float32] | None = None
    chances: Matrix | None = None
    log_weight: Vector | None = None

    def at(self, rows: NDArray[np.int64] | slice) -> "ModelRows":
        """Some of them."""
        parts: dict[str, Any] = {}
        for field in fields(self):
            values = getattr(self, field.name)
            parts[field.name] = None if values is None else values[rows]
        return ModelRows(**parts)


@dataclass(frozen=True)
class LogShape:
    """What is known of a log before its actions are read; `folds` (contexts,) is the fold of each context.

    `size` is that of the action space, `loggers` how many there are.
    """

    rows: int
    size: int
    max_loss: float
    folds: Folds
    loggers: int = 1


class CrossFittedModel(Protocol):
    """A model that sees all rows in order, is fitted once, and predicts each from folds that it is not in."""

    @property
    def fitted_rows(self) -> int:
        """How many rows it was fitted to."""

    def add(self, rows: ModelRows) -> None: ...

    def fit(self) -> None: ...

    def predict(self, rows: ModelRows) -> ModelledLoss: ...


def draw_folds(contexts: int, rng: np.random.Generator) -> Folds:
    """A fold for each context, of sizes as equal as can be: (contexts,)."""
    return rng.permutation(contexts) % min(FOLDS, contexts)
