"""What is measured of a policy after each epoch, and which epoch is the best one."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multilogger.components.divergences import exp_or_inf
from multilogger.components.estimators import Estimate, naive_risk
from multilogger.components.importance import (
    SELF_NORMALISED,
    WeightRule,
    importance_weights,
)
from multilogger.components.learners.context_look import ContextLook
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.logged_batch import LoggedBatch
from multilogger.components.policies import Matrix, Vector
from multilogger.components.torch_policies import KnownLoggers

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
    D_f(h||h_avg), and `slack` is kappa minus it. `multiplier` is the dual variable of the -exact methods, NaN
    for the others.
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
    multiplier: float = math.nan
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


class Look(ContextLook):
    """One policy, by its logits on all contexts (m, q), and what follows from them, each computed once."""

    def __init__(self, measure: "Measure", logits: Matrix) -> None:
        super().__init__(logits, measure.loggers, measure.train.counts, measure.objective.average)
        self._measure = measure

    @cached_property
    def train(self) -> LoggedBatch:
        """The training rows under this policy."""
        return self._measure.train.under(self.logits)


class Measure:
    """Measures policies of one run on both sides of the split."""

    def __init__(self, log: TrainingLog, objective: Objective, settings: LearnerSettings) -> None:
        self.objective, self.settings = objective, settings
        self.train, self.validation = log.part(validation=False), log.part(validation=True)
        self.loggers = KnownLoggers.of(log.logger_logits) if log.logger_logits else None

    def look(self, logits: Matrix) -> Look:
        """A policy given by its logits on all contexts (m, q)."""
        return Look(self, logits)

    def record(
        self,
        epoch: int,
        look: Look,
        shares: Vector,
        variational: tuple[float, ...] = (),
        multiplier: float = math.nan,
    ) -> EpochRecord:
        """Everything about one epoch."""
        validation = self.validation.under(look.logits)
        weights = _raw_weights(look.train)
        loggers = [weights[rows] for rows in self.train.by_logger]
        constraint = expm1_or_inf(look.log_constraint(shares))
        risk = naive_risk(self.validation.against_average(validation), SELF_NORMALISED)
        return EpochRecord(
            epoch=epoch,
            train_risk=self.objective.risk(look.train, shares, WeightRule(self.settings.weight_clip)).value,
            validation_risk=risk.value,
            validation_score=self.score(risk),
            eligible=self.eligible(validation),
            share=tuple(shares.tolist()),
            mean_weight=tuple(float(w.mean()) for w in loggers),
            effective_share=tuple(_effective_share(w) for w in loggers),
            largest_weight=tuple(float(w.max()) for w in loggers),
            log_d2=tuple(look.log_d2.tolist()),
            variational=variational or (math.nan,) * len(loggers),
            constraint=constraint,
            slack=self.settings.kappa - constraint,
            multiplier=multiplier,
        )

    def score(self, risk: Estimate) -> float:
        """What epochs are compared by."""
        return validation_score(risk.value, risk.standard_error, self.settings.pessimism)

    def eligible(self, batch: LoggedBatch) -> bool:
        """Whether the better-supported logger, that of the largest effective share, has S near 1.

        A policy that has left every logger's support has a self-normalised risk made of a few rows.
        """
        weights = _raw_weights(batch)
        loggers = [weights[rows] for rows in self.validation.by_logger]
        best = max(loggers, key=_effective_share)
        return bool(self.settings.least_mean_weight <= best.mean() <= self.settings.most_mean_weight)


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


def _raw_weights(batch: LoggedBatch) -> Vector:
    return importance_weights(batch.log_target, batch.log_propensity, FINITE_CLIP)


def _effective_share(weights: Vector) -> float:
    """(sum w)^2 / (n sum w^2): 1 when all weights are equal, 1/n when one is all."""
    scaled = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    squares = float(scaled @ scaled)
    return float(scaled.sum()) ** 2 / (len(weights) * squares) if squares > 0 else 0.0
