"""Are logged propensities right? The mean weight of the estimate over the log, per logger and per action.

If y ~ p(.|x) and p was logged, any estimate h that did not see the row has E 1[y = a] h(a|x) / p(a|x) =
E h(a|x), however good or bad h is. So the mean of h(y|x) / p(y|x) is 1, over all rows of a logger and, set
against the mean of h(a|x), over the rows of each action. A log whose propensities are wrong is off it.

The product of 1 + b (h/p - 1) over the rows of a fold, 0 < b <= 1, has mean 1 as well, so that it exceeds 1/s
with a chance of s at most, whatever the tail of the weights is. It tells rows that are likelier under the
estimate than under the log, such as those that bear another logger's propensities.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtri

from multilogger.components.propensities.tally import Tally

FAMILY_LEVEL = 0.01  # how often a right log may be flagged anywhere, over all loggers and actions
FEWEST_EXPECTED = 25.0  # rows of an action below which its mean weight is not tested
OFF = 0.05  # a smaller error of propensities is hardly worth a word
# Where the estimate is nearly right, all that is left of a logger's mean weight are products of the errors of
# two folds. Each pair of folds counts twice in it, so that its variance is twice the sum of squares.
BOTH_WAYS = 2.0


@dataclass(frozen=True)
class WeightCheck:
    """One mean weight: expected 1, with its standard error, and whether it is off by more than chance.

    `action` is None for all rows of the logger, the number of an action, or a label and its value. It is off
    if |z| is above `limit` and the mean off by more than 5 %, or if `log_evidence` is above `log_limit`.
    """

    logger: str
    action: int | tuple[int, int] | None
    rows: int
    mean_weight: float
    standard_error: float
    limit: float
    log_evidence: float
    log_limit: float

    @property
    def z(self) -> float:
        return (self.mean_weight - 1.0) / self.standard_error

    @property
    def is_off(self) -> bool:
        far = abs(self.z) > self.limit and abs(self.mean_weight - 1.0) > OFF
        return far or self.log_evidence > self.log_limit


def weight_checks(names: Sequence[str], tallies: Sequence[Tally]) -> tuple[WeightCheck, ...]:
    """Every test that has enough rows; the limit of |z| is for all of them together (Bonferroni)."""
    tests = [
        (j, place)
        for j, tally in enumerate(tallies)
        if tally.checked
        for place in range(len(tally.weights))
        if place == 0 or tally.expected[place] >= FEWEST_EXPECTED
    ]
    # Half of the level is for the mean weights, half for the evidence of each logger.
    limit = -float(ndtri(FAMILY_LEVEL / (4 * max(1, len(tests)))))
    log_limit = math.log(2 * len(names) / FAMILY_LEVEL)
    return tuple(_check(names[j], tallies[j], place, limit, log_limit) for j, place in tests)


def _check(name: str, tally: Tally, place: int, limit: float, log_limit: float) -> WeightCheck:
    expected = float(tally.expected[place])
    # Choice: never below the binomial variance, which a handful of equal weights would seem to have.
    variance = max(float(tally.squares[place]), float(tally.binomial[place]), 1e-12)
    variance *= BOTH_WAYS if place == 0 else 1.0
    return WeightCheck(
        logger=name,
        action=_action(tally, place),
        rows=tally.checked,
        mean_weight=float(tally.weights[place]) / expected,
        standard_error=math.sqrt(variance) / expected,
        limit=limit,
        log_evidence=_log_evidence(tally) if place == 0 else 0.0,
        log_limit=log_limit,
    )


def _action(tally: Tally, place: int) -> int | tuple[int, int] | None:
    if place == 0:
        return None
    if not tally.space.action_shape:
        return place - 1
    return ((place - 1) % tally.space.size, int(place <= tally.space.size))


def _log_evidence(tally: Tally) -> float:
    """The mean of the products over bets and folds, as a logarithm."""
    return float(logsumexp(tally.bets) - math.log(tally.bets.size))


def findings_of(checks: Sequence[WeightCheck]) -> tuple[str, ...]:
    """One sentence per logger that is off, with its worst action."""
    sentences = []
    for name in dict.fromkeys(one.logger for one in checks):
        off = [one for one in checks if one.logger == name and one.is_off]
        if off:
            worst = max(off, key=lambda one: abs(one.z))
            where = "over all actions" if worst.action is None else f"of {_words(worst.action)}"
            sentences.append(
                f"Logger {name}: the mean weight {where} is {worst.mean_weight:.3g}, expected 1 +- "
                f"{worst.standard_error:.2g} ({len(off)} of its {_tests(checks, name)} checks are off); its "
                "logged propensities are wrong, or it never takes actions that the estimate allows. Check "
                "how they were logged."
            )
    return tuple(sentences)


def _tests(checks: Sequence[WeightCheck], name: str) -> int:
    return int(np.sum([one.logger == name for one in checks]))


def _words(action: int | tuple[int, int]) -> str:
    return f"action {action}" if isinstance(action, int) else f"label {action[0]} as {action[1]}"
