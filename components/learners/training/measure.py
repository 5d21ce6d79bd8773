"""What learners ask of a log when they measure a policy, wherever the rows are.

`row_measures.py` answers from rows in memory, or from one pass over a log on disk.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import logsumexp
from torch import Tensor

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import KnownLoggers
from multilogger.components.estimators.bounds import (
    constraint_coefficients,
    constraint_value,
    equivalent_rho,
)
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.learners.training.objectives import (
    Objective,
    Rules,
    constraint_shares,
    shift_from,
)
from multilogger.components.learners.training.record import (
    EpochRecord,
    OwnRisks,
    Risk,
    expm1_or_inf,
    validation_score,
)
from multilogger.components.log.disk import LearnerLog


class ContextSnapshot:
    """One policy, by its logits on all contexts (m, size), and its divergences, each computed once."""

    def __init__(self, logits: Matrix, measure: "Measure") -> None:
        self.logits = logits
        self._loggers, self._averaged, self._counts = measure.loggers, measure.averaged, measure.counts
        self._average = measure.objective.average
        self._constraints: dict[bytes, float] = {}

    @cached_property
    def log_moments(self) -> Matrix:
        """log d_2(h||h_j; x) of each context and logger: (m, J); NaN if the loggers are not known."""
        return self._log_moments(self._loggers, len(self._counts))

    def _log_moments(self, loggers: KnownLoggers | None, count: int) -> Matrix:
        if loggers is None:
            return np.full((len(self.logits), count), math.nan)
        with torch.inference_mode():
            # Rounding may leave a sum at -1e-16 where the policies agree; d_2 >= 1 always.
            return loggers.log_d2(torch.from_numpy(self.logits)).clamp_min(0.0).numpy()

    @cached_property
    def log_d2(self) -> Vector:
        """log d_2(h||h_j; P(x)) over all contexts: (J,)."""
        return np.asarray(logsumexp(self.log_moments, axis=0) - math.log(len(self.logits)))

    def log_constraint(self, shares: Vector) -> float:
        """log(1 + sum_j c_j D_f(h||h_j)), or for balanced methods of 1 + an upper bound of D_f(h||h_avg)."""
        if self._average:
            return self._log_average_bound
        name = shares.tobytes()
        if name not in self._constraints:
            # A share of 0 makes nothing of any divergence, even of an infinite one.
            coefficients = constraint_coefficients(self._counts, shares / self._counts)
            self._constraints[name] = float(logsumexp(self.log_d2, b=coefficients))
        return self._constraints[name]

    @cached_property
    def _log_average_bound(self) -> float:
        """The harmonic bound of `estimators/divergences.py`, exact where h_avg is a policy of the space."""
        moments, counts = self.log_moments, self._counts
        if self._averaged is not None and self._averaged[0] is not self._loggers:
            loggers, counts = self._averaged
            moments = self._log_moments(loggers, len(counts))
        bound = -log_mixture(-moments, counts)
        return float(logsumexp(bound)) - math.log(len(bound))


Example = tuple[Tensor, Tensor]
"""Contexts by number (n,), and for each the action, or the probabilities (n, size) of actions."""


class LoggerWeights(NamedTuple):
    """Raw weights h/h_j of one logger: S_j, the effective sample size over n_j, the largest, and n_j."""

    mean: float
    effective_share: float
    largest: float
    rows: int

    @property
    def effective_rows(self) -> float:
        return self.effective_share * self.rows


class Snapshot(ContextSnapshot, ABC):
    """One policy, with its divergences over contexts and its figures over rows."""

    @abstractmethod
    def shares(self) -> Vector:
        """n_j lambda_j that the objective gives each logger at this policy: (J,)."""

    @abstractmethod
    def train_risk(self, shares: Vector) -> float:
        """The method's own estimate on the training split, weights cut as the objective cuts them."""

    @abstractmethod
    def running_risk(self, shares: Vector) -> float:
        """The same without a cut, self-normalised."""

    @abstractmethod
    def validation_risk(self) -> Risk:
        """The self-normalised balanced estimate on the validation split."""

    @abstractmethod
    def train_weights(self) -> tuple[LoggerWeights, ...]:
        """The weights of each logger's training rows."""

    @abstractmethod
    def validation_weights(self) -> tuple[LoggerWeights, ...]:
        """The weights of each logger's validation rows."""


class Measure(ABC):
    """Measures policies of one run on both sides of the split; `counts` (J,) are the training rows."""

    def __init__(
        self,
        log: LearnerLog,
        counts: Vector,
        objective: Objective,
        rules: Rules,
    ) -> None:
        self.largest_loss, self.counts = log.space.largest_loss, counts
        self.objective, self.rules, self.space = objective, rules, log.space.torch
        self.loggers = self.space.known_loggers(log.logger_logits) if log.logger_logits else None
        self.averaged: tuple[KnownLoggers, Vector] | None = None
        if self.loggers is not None and objective.average:
            tables, shares = log.space.averaged(log.logger_logits, counts)
            same = len(tables) == self.loggers.count > 1
            self.averaged = (self.loggers if same else self.space.known_loggers(tables)), shares

    @abstractmethod
    def snapshot(self, logits: Matrix) -> Snapshot:
        """A policy given by its logits on all contexts (m, q)."""

    @abstractmethod
    def mean_losses(self) -> tuple[float, ...]:
        """The mean delta of each logger's training rows."""

    @abstractmethod
    def log_propensities(self) -> Iterator[Vector]:
        """log h_j(y|x) of the training rows under their own loggers, in lots."""

    @abstractmethod
    def contexts_of(self, logger: int) -> Tensor:
        """The contexts of a logger's training rows, each once, in ascending order."""

    @abstractmethod
    def logged_actions(self, logger: int, batch_rows: int, generator: torch.Generator) -> Iterator[Example]:
        """A logger's training rows in mini-batches, in an order that the generator draws."""

    def loss_shift(self) -> float:
        """What the objective subtracts from each delta, before any running risk is known."""
        whole = shift_from(self.mean_losses(), self.largest_loss, self.rules.loss_shift)
        return self.rules.shift_share * whole

    def record(
        self,
        epoch: int,
        snapshot: Snapshot,
        shares: Vector,
        variational: tuple[float, ...] = (),
        multiplier: float = math.nan,
        pulled: float = math.nan,
        allowed: float | None = None,
        own: OwnRisks | None = None,
    ) -> EpochRecord:
        """Everything about one epoch; `allowed` is what the constraint may be, kappa unless it is given.

        An epoch that is judged by `own` risks needs no weights to be eligible.
        """
        kappa = self.rules.kappa if allowed is None else allowed
        weights = snapshot.train_weights()
        constraint = expm1_or_inf(snapshot.log_constraint(shares))
        risk = snapshot.validation_risk() if own is None else own.validation
        return EpochRecord(
            epoch=epoch,
            train_risk=snapshot.train_risk(shares) if own is None else own.train,
            validation_risk=risk.value,
            validation_score=self.score(risk),
            eligible=own is not None or self.eligible(snapshot),
            share=tuple(shares.tolist()),
            mean_weight=tuple(one.mean for one in weights),
            effective_share=tuple(one.effective_share for one in weights),
            largest_weight=tuple(one.largest for one in weights),
            log_d2=tuple(snapshot.log_d2.tolist()),
            variational=variational or (math.nan,) * len(weights),
            constraint=constraint,
            slack=kappa - self._known_constraint(variational, shares, constraint),
            rho=equivalent_rho(kappa, self.counts, self._constrained_lambdas(shares)),
            multiplier=multiplier,
            pulled=pulled,
        )

    def _known_constraint(self, variational: tuple[float, ...], shares: Vector, exact: float) -> float:
        """What is held against kappa: the estimator's moving average, or the exact divergence without one."""
        if not variational or any(math.isnan(value) for value in variational):
            return exact
        if self.objective.average:
            return variational[0]
        return constraint_value(self.counts, self._constrained_lambdas(shares), np.array(variational))

    def _constrained_lambdas(self, shares: Vector) -> Vector:
        """The lambda_j of the constraint; that on h_avg has them all equal (section 6)."""
        if self.objective.average:
            return np.full(len(shares), 1.0 / self.counts.sum())
        floored = constraint_shares(shares, self.rules.constraint_floor)
        return np.asarray(floored / self.counts, dtype=np.float64)

    def score(self, risk: Risk) -> float:
        """What epochs are compared by."""
        return validation_score(risk.value, risk.standard_error, self.rules.pessimism)

    def eligible(self, snapshot: Snapshot) -> bool:
        """Whether the better-supported logger, that of the largest effective share, has S near 1.

        A policy that has left every logger's support has a self-normalised risk made of a few rows, whose
        mean weight may be near 1 by chance: `least_effective_rows` asks for more of them.
        """
        guard = self.rules.guard
        best = max(snapshot.validation_weights(), key=lambda weights: weights.effective_share)
        near = guard.least_mean_weight <= best.mean <= guard.most_mean_weight
        return bool(near and best.effective_rows >= guard.least_effective_rows)
