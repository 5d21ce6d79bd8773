"""A policy's risk from the logs alone: every estimator, both intervals, support, and which one to trust."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.pessimism import SmoothedRisk, SmoothedRows, SmoothedSides
from multilogger.components.estimators.smoothing import Whole
from multilogger.components.evaluation.context_sums import ScoredLog, Sums
from multilogger.components.evaluation.guards import few_contexts_lines, fewest_contexts
from multilogger.components.evaluation.intervals import Interval, bernstein_interval, parts_of, resample
from multilogger.components.evaluation.log_sums import LogSums, sum_up
from multilogger.components.evaluation.max_weights import MaxWeights, bounds_of
from multilogger.components.evaluation.point_estimates import (
    ADDITIVE,
    AS_THEY_ARE,
    CLIPPED,
    CUT,
    DR,
    NORMALISED,
    WEIGHTED,
    Estimators,
    RowWeights,
    lambda_shares,
    row_weights,
    weights_of,
)
from multilogger.components.evaluation.rare_events import honest_rows, one_loss_warnings, rare_warnings
from multilogger.components.evaluation.support import (
    AddsUp,
    LoggerSupport,
    Overlap,
    Recommendation,
    logger_support,
    overlap_of,
    recommend,
    support_warnings,
)
from multilogger.components.learners.loss_models.additivity import AdditivityTest


@dataclass(frozen=True)
class Request:
    """How to evaluate. `clip` cuts weights of the clipped estimators; None takes the square root of n."""

    level: float = 0.95
    replicates: int = 1000
    clip: float | None = None

    def clip_of(self, rows: int) -> float:
        """Choice: sqrt(n), at which the bias of truncation and its variance balance (Ionides 2008)."""
        return math.sqrt(rows) if self.clip is None else self.clip


@dataclass(frozen=True)
class EstimateRow:
    """One estimator: its value, both intervals (`bernstein` None where none is valid), and its overlap."""

    name: str
    value: float
    standard_error: float
    bootstrap: Interval
    bernstein: Interval | None
    mean_weight: float
    effective_rows: float


@dataclass(frozen=True)
class PolicyEvaluation:
    """Everything that the log says of a policy. `lambda_share` (J,) is n_j lambda*_j.

    `smoothed` are pessimistic estimates, whose intervals hold for weights of any size.
    """

    estimates: tuple[EstimateRow, ...]
    loggers: tuple[LoggerSupport, ...]
    lambda_share: tuple[float, ...]
    overlap: Overlap
    warnings: tuple[str, ...]
    recommendation: Recommendation
    rows: int
    contexts: int
    clip: float
    max_loss: float
    additivity: AdditivityTest | None = None
    smoothed: tuple[SmoothedRisk, ...] = ()


@dataclass(frozen=True)
class SummedLog:
    """A log under a policy, summed up: who logged it, what it allows, and the sums.

    `few` is how few contexts there are where they are too few: the sums then take rows as independent.
    `contexts` is how many there are all the same. `effective_additive` is what balanced additive weights are
    worth by the policies alone. `smoothed` has the sums of pessimistic estimates.
    """

    names: tuple[str, ...]
    estimators: Estimators
    sums: LogSums
    clip: float
    max_loss: float
    contexts: int
    few: int | None = None
    effective_additive: float = 0.0
    smoothed: tuple[SmoothedSides, ...] = ()

    @property
    def rows(self) -> int:
        return int(self.estimators.counts.sum())


def evaluate_policy(
    log: ScoredLog,
    model: ModelledLoss | None,
    request: Request,
    rng: np.random.Generator,
    max_weights: MaxWeights | None = None,
    greedy_log_propensity: Vector | None = None,
    advance: Callable[[float], None] = lambda _: None,
    additivity: AdditivityTest | None = None,
) -> PolicyEvaluation:
    """Estimate R(h); `advance` is told of finished resamples."""
    summed = sum_up_log(log, model, request, rng, max_weights)
    bounded = max_weights is not None
    return evaluate_sums(summed, request, rng, bounded, greedy_log_propensity, advance, additivity)


def sum_up_log(
    log: ScoredLog,
    model: ModelledLoss | None,
    request: Request,
    rng: np.random.Generator,
    max_weights: MaxWeights | None = None,
) -> SummedLog:
    """The sums of a log in memory; rows are taken as independent where contexts are too few."""
    clip = request.clip_of(log.rows)
    bounds = bounds_of(clip, log.loggers, max_weights)
    sums = sum_up(log, model, bounds, rng)
    contexts = int(sums.contexts[-1])
    few = fewest_contexts(sums.contexts, log.counts)
    if few is not None:
        log = replace(log, context=np.arange(log.rows))
        sums = sum_up(log, model, bounds, rng)
    added = log.additive
    estimators = Estimators(
        log.counts, log.log_average is not None, model is not None, None if added is None else added.shares
    )
    effective = 0.0 if added is None else added.effective_rows
    smoothed = smooth(log, sums.whole)
    return SummedLog(log.names, estimators, sums, clip, log.max_loss, contexts, few, effective, smoothed)


def smooth(log: ScoredLog, whole: Whole) -> tuple[SmoothedSides, ...]:
    """The sums of pessimistic estimates of a log, or of a part of a `whole` one."""
    rows = SmoothedRows.of(log.log_target, log.delta, log.context, log.max_loss, whole)
    own = rows.sides("naive", log.log_propensity)
    return own if log.log_average is None else own + rows.sides("balanced", log.log_average)


def evaluate_sums(
    log: SummedLog,
    request: Request,
    rng: np.random.Generator,
    bounded: bool = False,
    greedy_log_propensity: Vector | None = None,
    advance: Callable[[float], None] = lambda _: None,
    additivity: AdditivityTest | None = None,
) -> PolicyEvaluation:
    """The same from sums; `bounded` says that the largest possible weights are known."""
    sums, estimators = log.sums, log.estimators
    points = estimators(sums.totals)
    resampled = resample(sums.strata, estimators, request.replicates, request.level, rng, advance)
    shares = _shares(sums.totals, estimators.counts)
    weighing = {name: _overlap(row_weights(name, sums, estimators, shares), log.rows) for name in points}
    rows = tuple(
        EstimateRow(
            name=name,
            value=float(value),
            standard_error=resampled[name].standard_error,
            bootstrap=resampled[name].bca,
            bernstein=_bernstein(name, log, shares, bounded, request.level),
            mean_weight=weighing[name].mean_weight,
            effective_rows=weighing[name].effective_rows,
        )
        for name, value in points.items()
    )
    rows = honest_rows(rows, sums, estimators, shares, log.max_loss, request.level)
    support = logger_support(log.names, sums, estimators.counts, request.level)
    whole = weighing["balanced" if estimators.balanced else "weighted"]
    return PolicyEvaluation(
        estimates=rows,
        loggers=support,
        lambda_share=tuple(shares["weighted"].tolist()),
        overlap=whole,
        warnings=(
            *few_contexts_lines(log.few),
            *support_warnings(sums, support, whole, greedy_log_propensity),
            *one_loss_warnings(log.names, sums, estimators.counts),
            *rare_warnings(sums, estimators, shares, log.max_loss),
        ),
        recommendation=recommend(
            {row.name: row for row in rows}, support, whole, _adds_up(log, weighing, additivity), log.few
        ),
        rows=log.rows,
        contexts=log.contexts,
        clip=log.clip,
        max_loss=log.max_loss,
        additivity=additivity,
        smoothed=tuple(one.risk(log.max_loss, request.level) for one in log.smoothed),
    )


def _overlap(weights: RowWeights, rows: int) -> Overlap:
    return overlap_of(rows, weights.total, weights.squares, weights.largest)


def _adds_up(log: SummedLog, weighing: dict[str, Overlap], test: AdditivityTest | None) -> AddsUp | None:
    """What speaks for additive weights; None where the loss does not add up over labels, or no one knows."""
    seen = weighing.get("additive-balanced")
    if seen is None or test is None or test.rejected:
        return None
    return AddsUp(test.p_value, seen.mean_weight, min(seen.effective_rows, log.effective_additive))


def _shares(sums: Sums, counts: Vector) -> dict[str, Vector]:
    """What each logger counts for in the estimators that differ in it: (J,) each."""
    return {
        "weighted": lambda_shares(sums, counts, AS_THEY_ARE),
        "weighted-clipped": lambda_shares(sums, counts, CUT),
    }


def _bernstein(
    name: str, log: SummedLog, shares: dict[str, Vector], bounded: bool, level: float
) -> Interval | None:
    """The empirical-Bernstein interval, where one is valid; see `intervals.py`."""
    clipped = name in CLIPPED
    if name in NORMALISED or name == DR or name in ADDITIVE or not (clipped or bounded):
        return None
    kind, counts = weights_of(name, log.estimators.balanced), log.estimators.counts
    own = shares[name] if name in WEIGHTED else None
    parts = parts_of(log.sums, kind, log.max_loss, counts, own)
    return bernstein_interval(parts, log.max_loss, level, clipped)
