"""The record of an epoch, and which epoch is the best one."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from multilogger.components.estimators.divergences import exp_or_inf
from multilogger.components.estimators.ips import Estimate

FINITE_CLIP = exp_or_inf(600.0)  # weights are measured raw, but a runaway policy must not end the training


class Risk(NamedTuple):
    """A risk and its standard error, NaN when a logger has a single row."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, estimate: Estimate) -> "Risk":
        return cls(estimate.value, estimate.standard_error)


class OwnRisks(NamedTuple):
    """Estimates of a method's own on both sides of the split, which it goes by in the place of weights."""

    train: float
    validation: Risk


@dataclass(frozen=True)
class EpochRecord:
    """One epoch, with one number per logger where a tuple stands.

    `train_risk` is the method's own estimate on the training split with its own weight rule,
    `validation_risk` the self-normalised balanced one on the validation split, or one of its own. The
    `validation_score`, that risk
    plus `pessimism` of its standard errors, decides among the epochs that the guard finds `eligible`.
    `mean_weight` is S_j and `effective_share` the effective sample size over n_j, both on training rows;
    `share` is n_j lambda_j. `log_d2` is exact, and NaN if the loggers' policies are not known; `variational`
    is the moving average of D_f that the constraint goes by, NaN without one, a single number if balanced.
    `constraint` is sum_j c_j D_f(h||h_j) from the exact divergences, for balanced methods an upper bound of
    D_f(h||h_avg). `slack` is kappa minus the same sum as the method knows it: of the moving average where
    there is one, else of the exact divergences. `rho` is the printed threshold that says the same as kappa
    (section 4); for the -exact methods both count from the least constraint there is. `multiplier` is the
    dual variable of the -exact methods, NaN for the others; `pulled` the share of an epoch's estimates, or
    steps of an -exact method, at which the constraint moved the policy: 0 in all means that it never bound.
    """

    epoch: int
    train_risk: float
    validation_risk: float
    validation_score: float
    eligible: bool
    share: tuple[float, ...]
    mean_weight: tuple[float, ...]
    effective_share: tuple[float, ...]
    largest_weight: tuple[float, ...]
    log_d2: tuple[float, ...]
    variational: tuple[float, ...]
    constraint: float
    slack: float
    rho: float = math.nan
    multiplier: float = math.nan
    pulled: float = math.nan
    best_epoch: int = 0

    def metrics(self) -> dict[str, float]:
        """The record as flat numbers, `name/j` for one per logger."""
        flat: dict[str, float] = {}
        for name, value in vars(self).items():
            if isinstance(value, tuple):
                flat |= {f"{name}/{j}": number for j, number in enumerate(value)}
            else:
                flat[name] = float(value)
        return flat


def validation_score(risk: float, standard_error: float, pessimism: float) -> float:
    """A validation risk plus `pessimism` of its standard errors.

    Choice: the least of many noisy risks is that with the luckiest noise, and the noise grows as a policy
    leaves the logs; a standard error on top takes that luck away.
    """
    return risk + pessimism * (0.0 if math.isnan(standard_error) else standard_error)


def better(candidate: EpochRecord, best: EpochRecord | None) -> bool:
    """Whether an epoch beats the best one so far: eligible first, then the lower validation score."""
    if best is None:
        return True
    if candidate.eligible != best.eligible:
        return candidate.eligible
    return candidate.validation_score < best.validation_score


def expm1_or_inf(log_value: float) -> float:
    """exp - 1 of a log, infinite where float64 ends."""
    return exp_or_inf(log_value) if log_value > 30.0 else math.expm1(log_value)
