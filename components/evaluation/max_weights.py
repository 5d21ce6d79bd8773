"""The largest weights that could occur: from the loggers themselves, or as a person says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import exact_divergence, harmonic_divergence_bound
from multilogger.components.evaluation.log_sums import Bounds


@dataclass(frozen=True)
class MaxWeights:
    """The largest weights that could occur in any context: h/h_j a logger (J,), and h/h_avg."""

    own: Vector
    average: float


def bounds_of(clip: float, loggers: int, max_weights: MaxWeights | None) -> Bounds:
    """The largest possible weights, infinite where they are not known."""
    if max_weights is None:
        return Bounds.of(clip, np.full(loggers, np.inf), math.inf)
    return Bounds.of(clip, max_weights.own, max_weights.average)


def greedy_log_propensity(space: ActionSpace, logits: Matrix, logger_logits: Sequence[Matrix]) -> Vector:
    """Log propensity of each context's likeliest action under the logger likeliest to take it: (m,)."""
    likeliest = space.greedy(logits)
    under = [space.log_probability(other, likeliest) for other in logger_logits]
    return np.asarray(np.max(under, axis=0), dtype=np.float64)


def known_max_weights(
    space: ActionSpace, logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector
) -> MaxWeights:
    """The largest weights over all contexts and actions, from logits (m, size) of the policy and the loggers.

    That of h/h_avg is exact where h_avg is a policy of the space, else a bound.
    """
    own = [exact_divergence(space, logits, other).log_max_ratio for other in logger_logits]
    tables, rows = space.averaged(logger_logits, counts)
    average = harmonic_divergence_bound(space, logits, tables, rows).log_max_ratio
    with np.errstate(over="ignore"):
        return MaxWeights(np.exp(np.array(own)), float(np.exp(average)))


def check_stated_weight(largest: float, max_weight: float, name: str) -> None:
    """Refuse a largest weight that a row exceeds; `name` is what the person wrote."""
    if largest > max_weight:
        raise BadInput(
            f"{name} is {max_weight:g}, but a row of the log has weight {largest:.4g}; "
            "give the largest that could ever occur"
        )
