"""How well the loggers cover a policy, logger by logger and for the log as a whole, and what to warn of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.evaluation.context_sums import ScoredLog

# Choice: the paper has no such limits. The first two are those that choose a policy while learning.
LOWEST_MEAN_WEIGHT, HIGHEST_MEAN_WEIGHT = 0.5, 2.0
FEW_EFFECTIVE_ROWS = 100.0
DOMINANT_SHARE = 0.1
TINY_PROPENSITY = 1e-3
DETERMINISTIC = 0.99  # mean probability of the likeliest action


@dataclass(frozen=True)
class LoggerSupport:
    """What the rows of one logger say of the policy.

    `mean_weight` is S_j, 1 in expectation; `effective_rows` is (sum w)^2 / sum w^2; `largest_share` is the
    part of sum w that one row has; `greedy_rows` is the share of rows with the policy's likeliest action.
    """

    name: str
    rows: int
    mean_loss: float
    mean_weight: float
    effective_rows: float
    largest_share: float
    greedy_rows: float


@dataclass(frozen=True)
class Overlap:
    """The same of all rows together, under the weights of an estimator, with the mean weight's error."""

    mean_weight: float
    standard_error: float
    effective_rows: float
    largest_share: float


def logger_support(log: ScoredLog) -> tuple[LoggerSupport, ...]:
    """One entry a logger, from its own weights h / h_j."""
    found = []
    for j, name in enumerate(log.names):
        rows = log.logger == j
        over = overlap(log.weights[rows])
        found.append(
            LoggerSupport(
                name=name,
                rows=int(rows.sum()),
                mean_loss=float(log.delta[rows].mean()),
                mean_weight=over.mean_weight,
                effective_rows=over.effective_rows,
                largest_share=over.largest_share,
                greedy_rows=float(log.is_greedy[rows].mean()),
            )
        )
    return tuple(found)


def overlap(weights: Vector) -> Overlap:
    """Of weights (n,) whose mean is 1 in expectation."""
    total, squares = float(weights.sum()), float(weights @ weights)
    return Overlap(
        mean_weight=total / len(weights),
        standard_error=float(weights.std(ddof=1)) / math.sqrt(len(weights)) if len(weights) > 1 else math.nan,
        effective_rows=total**2 / squares if squares > 0 else 0.0,
        largest_share=float(weights.max()) / total if total > 0 else 0.0,
    )


def support_warnings(
    log: ScoredLog,
    loggers: Sequence[LoggerSupport],
    whole: Overlap,
    greedy_log_propensity: Vector | None = None,
) -> list[str]:
    """What a reader must know before the estimates; `whole` is of h / h_avg, or of h / h_j with lambda*.

    `greedy_log_propensity` is the log propensity of each context's likeliest action under the logger that is
    most likely to take it, where the loggers themselves are at hand.
    """
    found = [line for one in loggers if (line := _logger_line(one))]
    off = abs(whole.mean_weight - 1.0)
    if off > 0.1 and off > 3.0 * whole.standard_error:
        found.append(
            f"the mean weight of all rows is {whole.mean_weight:.3f} ± {whole.standard_error:.3f} where 1 is "
            "expected: the propensities are wrong, or the policy does what no logger does"
        )
    if whole.effective_rows < FEW_EFFECTIVE_ROWS:
        found.append(
            f"{log.rows:,} rows are worth only {whole.effective_rows:,.0f}: intervals may be too narrow, "
            "log more, or evaluate a policy closer to its loggers"
        )
    if whole.largest_share > DOMINANT_SHARE:
        found.append(
            f"one row alone carries {whole.largest_share:.0%} of all weight; the estimates hang on it"
        )
    likeliest = float(np.exp(log.log_greedy).mean())
    if likeliest > DETERMINISTIC:
        found.append(
            f"the policy is all but deterministic ({likeliest:.3f} on its likeliest action): only rows with "
            f"that very action count, {log.is_greedy.mean():.1%} of them; a softer one is easier to judge"
        )
    if greedy_log_propensity is not None:
        rare = float((greedy_log_propensity < math.log(TINY_PROPENSITY)).mean())
        if rare > 0:
            found.append(
                f"in {rare:.1%} of the contexts every logger takes the policy's likeliest action with a "
                f"probability below {TINY_PROPENSITY:g}: there the log says next to nothing"
            )
    return found


def _logger_line(one: LoggerSupport) -> str | None:
    """What one logger lacks, its rows taken by themselves."""
    worth = f"logger {one.name}: {one.rows:,} rows are worth {one.effective_rows:,.0f}"
    if one.mean_weight < LOWEST_MEAN_WEIGHT:
        return f"{worth}, mean weight {one.mean_weight:.3g} where 1 is expected: it seldom acts as the policy"
    if one.mean_weight > HIGHEST_MEAN_WEIGHT:
        return f"{worth}, mean weight {one.mean_weight:.3g} where 1 is expected: a few rows weigh too much"
    if one.largest_share > DOMINANT_SHARE:
        return f"{worth}, one of them carries {one.largest_share:.0%} of their weight"
    return None
