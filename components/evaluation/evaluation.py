"""A policy's risk from the logs alone: every estimator, both intervals, support, and which one to trust."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import exact_divergence, harmonic_divergence_bound
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.pessimism import SmoothedRisk, SmoothedRows
from multilogger.components.estimators.smoothing import Groups
from multilogger.components.evaluation.context_sums import (
    ScoredLog,
    Sums,
    context_sums,
    total_sums,
)
from multilogger.components.evaluation.guards import check_weights, few_contexts_lines, guarded
from multilogger.components.evaluation.intervals import (
    Estimators,
    Interval,
    bernstein_interval,
    by_logger,
    resample,
    whole_log,
)
from multilogger.components.evaluation.points import (
    ADDITIVE,
    AS_THEY_ARE,
    CUT,
    DR,
    lambda_shares,
    row_weights,
)
from multilogger.components.evaluation.rare_events import honest_rows, rare_warnings
from multilogger.components.evaluation.support import (
    AddsUp,
    LoggerSupport,
    Overlap,
    Recommendation,
    logger_support,
    overlap,
    recommend,
    support_warnings,
)
from multilogger.components.learners.loss_models.additivity import AdditivityTest


@dataclass(frozen=True)
class MaxWeights:
    """The largest weights that could occur in any context: h/h_j a logger (J,), and h/h_avg."""

    own: Vector
    average: float


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
    check_weights(log)
    clip, contexts = request.clip_of(log.rows), log.contexts
    log, few = guarded(log)
    strata = context_sums(log, clip, model)
    added = None if log.additive is None else log.additive.shares
    estimators = Estimators(log.counts, log.log_average is not None, model is not None, added)
    sums = total_sums(strata, log.loggers)
    points = estimators(sums)
    resampled = resample(strata, estimators, request.replicates, request.level, rng, advance)
    shares = _shares(sums, log.counts)
    weighing = {name: overlap(row_weights(name, log, clip, shares)) for name in points}
    rows = tuple(
        EstimateRow(
            name=name,
            value=float(value),
            standard_error=resampled[name].standard_error,
            bootstrap=resampled[name].bca,
            bernstein=_bernstein(name, log, clip, shares, max_weights, request.level),
            mean_weight=weighing[name].mean_weight,
            effective_rows=weighing[name].effective_rows,
        )
        for name, value in points.items()
    )
    rows = honest_rows(rows, log, shares, request.level)
    support = logger_support(log, request.level)
    whole = weighing["weighted" if log.average_weights is None else "balanced"]
    return PolicyEvaluation(
        estimates=rows,
        loggers=support,
        lambda_share=tuple(shares["weighted"].tolist()),
        overlap=whole,
        warnings=(
            *few_contexts_lines(few),
            *support_warnings(log, support, whole, greedy_log_propensity),
            *rare_warnings(log, shares),
        ),
        recommendation=recommend(rows_by_name(rows), support, whole, _adds_up(log, additivity), few),
        rows=log.rows,
        contexts=contexts,
        clip=clip,
        max_loss=log.max_loss,
        additivity=additivity,
        smoothed=_smoothed(log, request.level),
    )


def _smoothed(log: ScoredLog, level: float) -> tuple[SmoothedRisk, ...]:
    rows = SmoothedRows(log.log_target, log.delta, Groups.of(log.context), log.max_loss)
    own = rows.risks("naive", log.log_propensity, level)
    return own if log.log_average is None else own + rows.risks("balanced", log.log_average, level)


def _adds_up(log: ScoredLog, test: AdditivityTest | None) -> AddsUp | None:
    """What speaks for additive weights; None where the loss does not add up over labels, or no one knows."""
    if log.additive is None or test is None or test.rejected:
        return None
    seen = overlap(log.additive.balanced)
    return AddsUp(test.p_value, seen.mean_weight, min(seen.effective_rows, log.additive.effective_rows))


def rows_by_name(rows: tuple[EstimateRow, ...]) -> dict[str, EstimateRow]:
    return {row.name: row for row in rows}


def _shares(sums: Sums, counts: Vector) -> dict[str, Vector]:
    """What each logger counts for in the estimators that differ in it: (J,) each."""
    return {
        "weighted": lambda_shares(sums, counts, AS_THEY_ARE),
        "weighted-clipped": lambda_shares(sums, counts, CUT),
    }


def _bernstein(
    name: str,
    log: ScoredLog,
    clip: float,
    shares: dict[str, Vector],
    max_weights: MaxWeights | None,
    level: float,
) -> Interval | None:
    """The empirical-Bernstein interval, where one is valid; see `intervals.py`."""
    clipped = name.endswith("clipped")
    if name.endswith("-sn") or name == DR or name in ADDITIVE or not (clipped or max_weights):
        return None
    b = log.average_weights
    weights = b if b is not None and name.startswith("balanced") else log.weights
    bound: Vector | float = clip
    if clipped:
        weights = np.minimum(weights, clip)
    if max_weights is not None:
        most = max_weights.average if name.startswith("balanced") else max_weights.own
        bound = np.minimum(most, clip) if clipped else most
    if name.startswith("weighted"):
        return bernstein_interval(by_logger(log, weights, bound, shares[name]), log.max_loss, level, clipped)
    return bernstein_interval(whole_log(log, weights, bound), log.max_loss, level, clipped)


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


def stated_max_weights(log: ScoredLog, max_weight: float, name: str) -> MaxWeights:
    """The largest weight as a person says it, which no row may exceed; `name` is what the person wrote."""
    largest = float(log.weights.max())
    if largest > max_weight:
        raise BadInput(
            f"{name} is {max_weight:g}, but a row of the log has weight {largest:.4g}; "
            "give the largest that could ever occur"
        )
    return MaxWeights(np.full(log.loggers, max_weight), max_weight)
