"""How well the loggers cover a policy, what to warn of, and which estimate to trust.

The rule of trust looks at the weights and never at the estimates themselves: looking at those, or at the
width of their intervals, would pick the luckiest of ten.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import ndtri

from multilogger.components.actions.arrays import Vector
from multilogger.components.evaluation.context_sums import Summed
from multilogger.components.evaluation.log_sums import LogSums, WeightKind
from multilogger.components.evaluation.point_estimates import DR

if TYPE_CHECKING:
    from multilogger.components.evaluation.evaluation import EstimateRow

# Choice: the paper has no such limits. The first two are those that choose a policy while learning.
LOWEST_MEAN_WEIGHT, HIGHEST_MEAN_WEIGHT = 0.5, 2.0
FEW_EFFECTIVE_ROWS = 100.0
DOMINANT_SHARE = 0.1
TINY_PROPENSITY = 1e-3
DETERMINISTIC = 0.99  # mean probability of the likeliest action
CLOSE_MEAN_WEIGHT = (0.9, 1.1)
# Choice: below it, 30 % of what the policy does is not in the log, and self-normalising hides that. At the
# limit of 0.5 that learning uses, `benchmarks/interval_coverage.py --trusted` found every interval wrong.
BEARABLE_MEAN_WEIGHT = (0.7, 1.0 / 0.7)
FEWEST_EFFECTIVE_ROWS = 20.0


@dataclass(frozen=True)
class LoggerSupport:
    """What the rows of one logger say of the policy.

    `mean_weight` is S_j, 1 in expectation; `effective_rows` is (sum w)^2 / sum w^2; `largest_share` is the
    part of sum w that one row has; `greedy_rows` is the share of rows with the policy's likeliest action.
    `error` is how far the mean loss may be off.
    """

    name: str
    rows: int
    mean_loss: float
    mean_weight: float
    effective_rows: float
    largest_share: float
    greedy_rows: float
    error: float = 0.0


@dataclass(frozen=True)
class Overlap:
    """The same of all rows together, under the weights of an estimator, with the mean weight's error."""

    mean_weight: float
    standard_error: float
    effective_rows: float
    largest_share: float


def logger_support(
    names: Sequence[str], sums: LogSums, counts: Vector, level: float = 0.95
) -> tuple[LoggerSupport, ...]:
    """One entry per logger of `counts` (J,) rows, from its own weights h / h_j."""
    found, losses, own = [], sums.totals[:, Summed.DELTA], WeightKind.OWN
    for j, name in enumerate(names):
        over = overlap_of(counts[j], *(x[own, j] for x in (sums.weights, sums.squares, sums.largest)))
        mean = float(losses[j] / counts[j])
        off = float(sums.spread[j] @ [1.0, -2.0 * mean, mean**2])  # losses of one context vary together
        found.append(
            LoggerSupport(
                name=name,
                rows=int(counts[j]),
                mean_loss=mean,
                mean_weight=over.mean_weight,
                effective_rows=over.effective_rows,
                largest_share=over.largest_share,
                greedy_rows=float(sums.greedy[j] / counts[j]),
                error=float(ndtri(0.5 + level / 2)) * math.sqrt(max(0.0, off)) / float(counts[j]),
            )
        )
    return tuple(found)


def overlap_of(rows: float, total: float, squares: float, largest: float) -> Overlap:
    """Of weights whose mean is 1 in expectation, by their sum, sum of squares and largest."""
    variance = max(0.0, squares - total**2 / rows) / max(1.0, rows - 1.0)
    return Overlap(
        mean_weight=float(total / rows),
        standard_error=math.sqrt(variance / rows) if rows > 1 else math.nan,
        effective_rows=float(total**2 / squares) if squares > 0 else 0.0,
        largest_share=float(largest / total) if total > 0 else 0.0,
    )


def support_warnings(
    sums: LogSums,
    loggers: Sequence[LoggerSupport],
    whole: Overlap,
    greedy_log_propensity: Vector | None = None,
) -> list[str]:
    """What a reader must know before the estimates; `whole` is of h / h_avg, or of h / h_j with lambda*.

    `greedy_log_propensity` is the log propensity of each context's likeliest action under the logger that is
    most likely to take it, where the loggers themselves are at hand.
    """
    rows = sum(one.rows for one in loggers)
    found = [line for one in loggers if (line := _logger_line(one))]
    off = abs(whole.mean_weight - 1.0)
    if off > 0.1 and off > 3.0 * whole.standard_error:
        found.append(
            f"the mean weight of all rows is {whole.mean_weight:.3f} ± {whole.standard_error:.3f} where 1 is "
            "expected: the propensities are wrong, or the policy does what no logger does"
        )
    if whole.effective_rows < FEW_EFFECTIVE_ROWS:
        found.append(
            f"{rows:,} rows are worth only {whole.effective_rows:,.0f}: intervals may be too narrow, "
            "log more, or evaluate a policy closer to its loggers"
        )
    if whole.largest_share > DOMINANT_SHARE:
        found.append(
            f"one row alone carries {whole.largest_share:.0%} of all weight; the estimates hang on it"
        )
    likeliest = sums.likeliest / rows
    if likeliest > DETERMINISTIC:
        found.append(
            f"the policy is all but deterministic ({likeliest:.3f} on its likeliest action): only rows with "
            f"that very action count, {sums.greedy.sum() / rows:.1%} of them; a softer one is easier to judge"
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


@dataclass(frozen=True)
class Recommendation:
    """The estimator to trust, None if there is none, and the sentence that says so."""

    estimator: str | None
    sentence: str


@dataclass(frozen=True)
class AddsUp:
    """The p-value of a loss that adds up over labels, and what balanced additive weights are worth then."""

    p_value: float
    mean_weight: float
    effective_rows: float

    @property
    def bearable(self) -> bool:
        low, high = BEARABLE_MEAN_WEIGHT
        return low <= self.mean_weight <= high and self.effective_rows >= FEWEST_EFFECTIVE_ROWS


def recommend(
    estimates: "Mapping[str, EstimateRow]",
    loggers: Sequence[LoggerSupport],
    whole: Overlap,
    adds_up: AddsUp | None = None,
    few_contexts: int | None = None,
) -> Recommendation:
    """The rule, from h / h_avg of all rows (h / h_j with lambda* where the log has no other propensities):

    - rows of fewer than 20 different contexts (then `few_contexts` of them): none;
    - mean weight outside [0.7, 1.43], or fewer than 20 effective rows: none, or `additive-balanced` where
      that has both, and the test of it finds no sign that the loss does not add up over labels;
    - mean weight in [0.9, 1.1], at least 100 effective rows, no row with a tenth of all weight: `dr`;
    - in between, the self-normalised estimate, which a mean weight off 1 harms least, as a rough figure.
    """
    if few_contexts is not None:
        return Recommendation(None, f"Trust none of them: rows of only {few_contexts} different contexts.")
    lacks = _what_is_lacking(whole)
    if lacks:
        return _of_sums(estimates, loggers, adds_up, lacks)
    good = (
        CLOSE_MEAN_WEIGHT[0] <= whole.mean_weight <= CLOSE_MEAN_WEIGHT[1]
        and whole.effective_rows >= FEW_EFFECTIVE_ROWS
        and whole.largest_share <= DOMINANT_SHARE
    )
    fallback = "balanced-sn" if "balanced-sn" in estimates else "weighted-sn"
    name = DR if good and DR in estimates else fallback
    caveat = "" if good else " as a rough figure only, overlap is thin"
    return Recommendation(name, f"Trust {name}{caveat}: {_figure(estimates[name], loggers)}.")


def _of_sums(
    estimates: "Mapping[str, EstimateRow]",
    loggers: Sequence[LoggerSupport],
    adds_up: AddsUp | None,
    lacks: str,
) -> Recommendation:
    """What is left where weights of whole actions say nothing."""
    name = "additive-balanced"
    if adds_up is None or not adds_up.bearable or name not in estimates:
        return Recommendation(None, f"Trust none of them: {lacks}.")
    return Recommendation(
        name,
        f"Trust {name}, which rests on a loss that adds up over labels (not rejected, p = "
        f"{adds_up.p_value:.2g}): {_figure(estimates[name], loggers)}; of the others trust none: {lacks}.",
    )


def _figure(one: "EstimateRow", loggers: Sequence[LoggerSupport]) -> str:
    """An estimate with its interval, beside the best logger's loss; the error of both tells them apart."""
    best = min(loggers, key=lambda logger: logger.mean_loss)
    off, ends, digits = one.value - best.mean_loss, one.bootstrap, one.bootstrap.digits
    apart = abs(off) > math.hypot(one.value - (ends.low if off > 0 else ends.high), best.error)
    theirs = f"the best logger's {best.mean_loss:.{digits}f}"
    side = f"{'above' if off > 0 else 'below'} {theirs} by more than the error of both"
    ahead = side if apart else f"not told apart from {theirs}"
    return f"{one.value:.{digits}f} ({ends.low:.{digits}f} to {ends.high:.{digits}f}), {ahead}"


def _what_is_lacking(whole: Overlap) -> str:
    """Why nothing can be trusted; empty if something can."""
    low, high = BEARABLE_MEAN_WEIGHT
    reasons = []
    if not low <= whole.mean_weight <= high:
        reasons.append(
            f"the loggers do not cover what the policy does (mean weight {whole.mean_weight:.2f} where 1 is "
            f"expected and {low:.2f} to {high:.2f} can be borne)"
        )
    if whole.effective_rows < FEWEST_EFFECTIVE_ROWS:
        reasons.append(
            f"too few rows speak of the policy ({math.floor(whole.effective_rows)} effective rows, "
            f"{FEWEST_EFFECTIVE_ROWS:.0f} are the least)"
        )
    return ", and ".join(reasons)
