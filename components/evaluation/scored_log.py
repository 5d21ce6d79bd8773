"""A log under a policy: one row a logged action, with everything that the estimators need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multilogger.components.importance import importance_weights
from multilogger.components.logged_batch import Loggers
from multilogger.components.policies import Vector

Contexts = NDArray[np.int64]


@dataclass(frozen=True)
class ScoredLog:
    """n rows of J loggers.

    `names` are the loggers' labels in the user's log; `logger` (n,) and `context` (n,) count from 0 without
    gaps, and a row whose context is not known is a context of its own. `delta` (n,) lies in
    [0, `max_loss`]; `log_target` (n,) is log h(y|x); `log_average` (n,) is log h_avg(y|x), None where the log
    has no propensities of other loggers. `is_greedy` (n,) marks rows whose action is the policy's likeliest,
    `log_greedy` (n,) is log h of that likeliest action.
    """

    names: tuple[str, ...]
    logger: Loggers
    context: Contexts
    delta: Vector
    log_propensity: Vector
    log_target: Vector
    max_loss: float
    log_average: Vector | None
    is_greedy: NDArray[np.bool_]
    log_greedy: Vector

    @property
    def rows(self) -> int:
        return len(self.delta)

    @property
    def loggers(self) -> int:
        return len(self.names)

    @cached_property
    def counts(self) -> Vector:
        """n_j: (J,)."""
        return np.bincount(self.logger, minlength=self.loggers).astype(np.float64)

    @cached_property
    def contexts(self) -> int:
        return int(self.context.max()) + 1

    @cached_property
    def weights(self) -> Vector:
        """h / h_j: (n,)."""
        return importance_weights(self.log_target, self.log_propensity)

    @cached_property
    def average_weights(self) -> Vector | None:
        """h / h_avg: (n,)."""
        if self.log_average is None:
            return None
        return importance_weights(self.log_target, self.log_average)
