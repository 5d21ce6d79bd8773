"""What is measured of a policy after each epoch, and which epoch is the best one."""

import math
from dataclasses import dataclass

import numpy as np

from multilogger.components.constraint import constraint_value
from multilogger.components.divergences import exact_divergence, exp_or_inf, harmonic_divergence_bound
from multilogger.components.estimators import Estimate, balanced_risk
from multilogger.components.importance import SELF_NORMALISED, WeightRule, importance_weights
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.logged_batch import LoggedBatch
from multilogger.components.policies import Matrix, Vector

FINITE_CLIP = exp_or_inf(600.0)  # weights are measured raw, but a runaway policy must not end the training


@dataclass(frozen=True)
class EpochRecord:
    """One epoch, with one number a logger where a tuple stands.

    `train_risk` is the method's own estimate on the training split with its own weight rule,
    `validation_risk` the self-normalised balanced one on the validation split. `validation_score`, that risk
    plus `pessimism` of its standard errors, decides among the epochs that the guard finds `eligible`.
    `mean_weight` is S_j and `effective_share` the effective sample size over n_j, both on training rows;
    `share` is n_j lambda_j. `log_d2` is exact, and NaN if the loggers' policies are not known; `variational`
    is the moving average of D_f that the constraint goes by, NaN without one, a single number if balanced.
    `constraint` is sum_j c_j D_f(h||h_j) from the exact divergences, for balanced methods an upper bound of
    D_f(h||h_avg), and `slack` is kappa minus it.
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
    best_epoch: int = 0

    def metrics(self) -> dict[str, float]:
        """The record as flat numbers, `name/j` for one a logger."""
        flat: dict[str, float] = {}
        for name, value in vars(self).items():
            if isinstance(value, tuple):
                flat |= {f"{name}/{j}": number for j, number in enumerate(value)}
            else:
                flat[name] = float(value)
        return flat


class Measure:
    """Measures policies of one run on both sides of the split, by their logits on all contexts."""

    def __init__(self, log: TrainingLog, objective: Objective, settings: LearnerSettings) -> None:
        self.objective, self.settings = objective, settings
        self.train, self.validation = log.part(validation=False), log.part(validation=True)
        self.logger_logits = log.logger_logits

    def record(
        self, epoch: int, logits: Matrix, shares: Vector, variational: tuple[float, ...] = ()
    ) -> EpochRecord:
        """Everything about one epoch."""
        train = self.train.under(logits)
        validation = self.validation.under(logits)
        weights = _raw_weights(train)
        loggers = [weights[train.logger == j] for j in range(train.loggers)]
        log_d2 = self.exact_log_d2(logits)
        constraint = self.constraint(logits, log_d2, shares)
        risk = balanced_risk(validation, SELF_NORMALISED)
        return EpochRecord(
            epoch=epoch,
            train_risk=self.objective.risk(train, shares, WeightRule(self.settings.weight_clip)).value,
            validation_risk=risk.value,
            validation_score=self.score(risk),
            eligible=self.eligible(validation),
            share=tuple(shares.tolist()),
            mean_weight=tuple(float(w.mean()) for w in loggers),
            effective_share=tuple(_effective_share(w) for w in loggers),
            largest_weight=tuple(float(w.max()) for w in loggers),
            log_d2=log_d2,
            variational=variational or (math.nan,) * train.loggers,
            constraint=constraint,
            slack=self.settings.kappa - constraint,
        )

    def score(self, risk: Estimate) -> float:
        """What epochs are compared by.

        Choice: the least of many noisy risks is that with the luckiest noise, and the noise grows as a policy
        leaves the logs; a standard error on top takes that luck away.
        """
        error = 0.0 if math.isnan(risk.standard_error) else risk.standard_error
        return risk.value + self.settings.pessimism * error

    def eligible(self, batch: LoggedBatch) -> bool:
        """Whether the better-supported logger, that of the largest effective share, has S near 1.

        A policy that has left every logger's support has a self-normalised risk made of a few rows.
        """
        weights = _raw_weights(batch)
        loggers = [weights[batch.logger == j] for j in range(batch.loggers)]
        best = max(loggers, key=_effective_share)
        return bool(self.settings.least_mean_weight <= best.mean() <= self.settings.most_mean_weight)

    def exact_log_d2(self, logits: Matrix) -> tuple[float, ...]:
        """log d_2(h||h_j; P(x)) over all contexts, one a logger."""
        if not self.logger_logits:
            return (math.nan,) * len(self.train.counts)
        return tuple(exact_divergence(logits, table).log_d2 for table in self.logger_logits)

    def constraint(self, logits: Matrix, log_d2: tuple[float, ...], shares: Vector) -> float:
        """The left-hand side of the constraint, from exact divergences."""
        if not self.logger_logits:
            return math.nan
        counts = self.train.counts
        if self.objective.average:
            return harmonic_divergence_bound(logits, self.logger_logits, counts).d_f
        d_f = np.array([exp_or_inf(value) - 1.0 for value in log_d2])
        used = shares > 0  # infinity times a share of 0 is 0 here
        return constraint_value(counts[used], (shares / counts)[used], d_f[used])


def better(candidate: EpochRecord, best: EpochRecord | None) -> bool:
    """Whether an epoch beats the best one so far: eligible first, then the lower validation score."""
    if best is None:
        return True
    if candidate.eligible != best.eligible:
        return candidate.eligible
    return candidate.validation_score < best.validation_score


def _raw_weights(batch: LoggedBatch) -> Vector:
    return importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)


def _effective_share(weights: Vector) -> float:
    """(sum w)^2 / (n sum w^2): 1 when all weights are equal, 1/n when one is all."""
    scaled = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    squares = float(scaled @ scaled)
    return float(scaled.sum()) ** 2 / (len(weights) * squares) if squares > 0 else 0.0
