"""Importance weights h(y|x) / h_j(y|x) from log-probabilities (section 2.1).

Ratios are formed in the log domain: at 22 labels both sides are near 1e-7 and their ratios span 1e7.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput

LARGEST_LOG = 700.0  # exp beyond it comes near the end of float64


@dataclass(frozen=True)
class WeightRule:
    """What is done to raw weights: cut at `clip`, then divided by their mean if `self_normalised`."""

    clip: float = math.inf
    self_normalised: bool = False

    def __post_init__(self) -> None:
        if not self.clip > 0:
            raise BadInput(
                f"clip must be above 0, got {self.clip}; leave it out for weights that are not clipped"
            )


RAW = WeightRule()
SELF_NORMALISED = WeightRule(self_normalised=True)


def importance_weights(log_target: Vector, log_propensity: Vector, clip: float = math.inf) -> Vector:
    """w = min(h(y|x) / h_j(y|x), clip) of each row: (n,).

    exp(min(log h - log h_j, log clip)), so a clipped weight never overflows on its way.
    """
    log_weights = np.minimum(_log_ratio(log_target, log_propensity), math.log(clip))
    largest = float(log_weights.max(initial=-math.inf))
    if largest > LARGEST_LOG:
        raise BadInput(
            f"importance weights must stay below exp({LARGEST_LOG:g}), got exp({largest:.6g}); "
            "clip the weights, or keep the policy closer to its loggers"
        )
    return np.exp(log_weights)


def log_mixture(log_propensities: Matrix, counts: Vector) -> Vector:
    """log h_avg(y|x) = log sum_j (n_j / n) h_j(y|x) (section 6), over the last axis of (..., J)."""
    if log_propensities.shape[-1] != len(counts):
        raise BadInput(
            "h_avg needs one log propensity a logger, got "
            f"{log_propensities.shape[-1]} columns for {len(counts)} loggers; log all of them in each row"
        )
    shares = np.asarray(counts, dtype=np.float64) / np.sum(counts)
    return np.asarray(logsumexp(log_propensities, b=shares, axis=-1), dtype=np.float64)


def _log_ratio(log_target: Vector, log_propensity: Vector) -> Vector:
    if log_target.shape != log_propensity.shape:
        raise BadInput(
            f"policy and log must have the same rows, got {log_target.shape} and {log_propensity.shape}; "
            "take both from the same part of the log"
        )
    return log_target - log_propensity
