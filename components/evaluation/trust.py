"""Which estimate to trust, by a rule that looks at the weights and never at the estimates themselves.

Looking at the estimates, or at the width of their intervals, would pick the luckiest of ten.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.points import DR
from multilogger.components.evaluation.support import (
    DOMINANT_SHARE,
    FEW_EFFECTIVE_ROWS,
    LoggerSupport,
    Overlap,
)

CLOSE_MEAN_WEIGHT = (0.9, 1.1)
# Choice: below it, 30 % of what the policy does is not in the log, and self-normalising hides that. At the
# limit of 0.5 that learning uses, `benchmarks/interval_coverage.py --trusted` found every interval wrong.
BEARABLE_MEAN_WEIGHT = (0.7, 1.0 / 0.7)
FEWEST_EFFECTIVE_ROWS = 20.0


class Estimated(Protocol):
    """What the sentence says of an estimate."""

    @property
    def value(self) -> float: ...

    @property
    def bootstrap(self) -> Interval: ...


@dataclass(frozen=True)
class Recommendation:
    """The estimator to trust, None if there is none, and the sentence that says so."""

    estimator: str | None
    sentence: str


def recommend(
    estimates: Mapping[str, Estimated], loggers: Sequence[LoggerSupport], whole: Overlap
) -> Recommendation:
    """The rule, from h / h_avg of all rows (h / h_j with lambda* where the log has no other propensities):

    - mean weight outside [0.7, 1.43], or fewer than 20 effective rows: none;
    - mean weight in [0.9, 1.1], at least 100 effective rows, no row with a tenth of all weight: `dr`;
    - in between, the self-normalised estimate, which a mean weight off 1 harms least, as a rough figure.
    """
    lacks = _what_is_lacking(whole)
    if lacks:
        return Recommendation(None, f"Trust none of them: {lacks}.")
    good = (
        CLOSE_MEAN_WEIGHT[0] <= whole.mean_weight <= CLOSE_MEAN_WEIGHT[1]
        and whole.effective_rows >= FEW_EFFECTIVE_ROWS
        and whole.largest_share <= DOMINANT_SHARE
    )
    fallback = "balanced-sn" if "balanced-sn" in estimates else "weighted-sn"
    name = DR if good and DR in estimates else fallback
    one = estimates[name]
    best = min(loggers, key=lambda logger: logger.mean_loss)
    figure = f"{one.value:.3f} ({one.bootstrap.low:.3f} to {one.bootstrap.high:.3f})"
    ahead = (
        f"below the best logger's {best.mean_loss:.3f} with its whole interval"
        if one.bootstrap.high < best.mean_loss
        else f"above the best logger's {best.mean_loss:.3f} with its whole interval"
        if one.bootstrap.low > best.mean_loss
        else f"not told apart from the best logger's {best.mean_loss:.3f}"
    )
    if good:
        return Recommendation(name, f"Trust {name}: {figure}, {ahead}.")
    return Recommendation(name, f"Trust {name} as a rough figure only, overlap is thin: {figure}, {ahead}.")


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
