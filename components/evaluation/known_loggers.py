"""What the loggers' own policies, or a stated bound, tell of a policy beyond the logged rows."""

from collections.abc import Sequence

import numpy as np

from multilogger.components.actions.labels import Matrix, Vector, greedy, log_probability
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import exact_divergence, harmonic_divergence_bound
from multilogger.components.evaluation.context_sums import ScoredLog
from multilogger.components.evaluation.evaluation import MaxWeights


def greedy_log_propensity(logits: Matrix, logger_logits: Sequence[Matrix]) -> Vector:
    """Log propensity of each context's likeliest action under the logger likeliest to take it: (m,)."""
    likeliest = greedy(logits)
    under = [log_probability(other, likeliest) for other in logger_logits]
    return np.asarray(np.max(under, axis=0), dtype=np.float64)


def known_max_weights(logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector) -> MaxWeights:
    """The largest weights over all contexts and actions, from logits (m, q) of the policy and the loggers."""
    own = [exact_divergence(logits, other).log_max_ratio for other in logger_logits]
    average = harmonic_divergence_bound(logits, logger_logits, counts).log_max_ratio
    with np.errstate(over="ignore"):
        return MaxWeights(np.exp(np.array(own)), float(np.exp(average)))


def stated_max_weights(log: ScoredLog, max_weight: float, name: str) -> MaxWeights:
    """The largest weight as a person says it, which no row may exceed; `name` is what the person wrote."""
    largest = float(log.weights.max())
    if largest > max_weight:
        raise BadInput(
            f"{name} is {max_weight:g}, but a row of the log has weight {largest:.4g}; "
            "give the largest that could ever occur"
        )
    return MaxWeights(np.full(log.loggers, max_weight), max_weight)
