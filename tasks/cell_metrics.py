"""What a run of a whole pipeline shows: the same few numbers, under the same names, for every method."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from multilogger.components.learners.methods import METHODS, place, reads
from multilogger.components.learners.training.settings import GuardSettings
from multilogger.tasks.evaluate import Evaluation
from multilogger.tasks.policy_checks import Sight

VALIDATION_ESTIMATOR = "balanced-sn"
"""Choice: the self-normalised balanced estimate, which has the least variance of ours, compares policies."""

RULE_OF_TIES = "of equal risks auto comes after what it chooses from, then the lower seed first"

SAW_LABELS = frozenset({"crf", *(name for name, method in METHODS.items() if method.saw_labels)})
GUARD = (GuardSettings().least_mean_weight, GuardSettings().most_mean_weight)


def cell_metrics(result: Evaluation) -> dict[str, float]:
    """Losses on test, the risk that validation rows alone say with its 95 % interval, and the certificate.

    `certificate_log10` is of the bound of Theorem 3.2 at lambda*, for the `evaluate.eta` among the
    parameters: the bound itself may be 1e20, and nothing else would be seen in a chart beside it. What is not
    finite is left out, as charts cannot show it. `validation_seen` is 1 for a policy that is judged by rows
    that it learned from.
    """
    risk = result.estimates[VALIDATION_ESTIMATOR]
    metrics = {
        "exp": result.exp,
        "greedy": result.greedy,
        "validation_risk": risk["value"],
        "validation_low": risk["low"],
        "validation_high": risk["high"],
        "validation_mean_weight": risk["mean_weight"],
        "validation_seen": float(result.sight is Sight.ALL),
        "effective_rows": risk["effective_rows"],
    }
    if "weighted" in result.certificates:
        metrics["certificate_log10"] = _log10(result.certificates["weighted"]["bound"])
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def why_not_chosen(method: str, metrics: Mapping[str, float], labels: object = 0) -> str:
    """Why a policy may not be chosen among others by its validation risk; empty if it may.

    It has to be learned from logs alone, and supported by them: a mean weight inside the guard, a finite
    interval. A policy of fewer `labels` solves another problem, whose losses are lower.
    """
    if method in SAW_LABELS:
        return "it saw true labels"
    if str(labels) != "0":
        return f"it has {labels} of the labels alone"
    wanted = ("validation_risk", "validation_low", "validation_high", "validation_mean_weight")
    numbers = [metrics.get(name, math.nan) for name in wanted]
    if not all(map(math.isfinite, numbers)):
        return "its validation risk has no interval"
    if not GUARD[0] <= numbers[-1] <= GUARD[1]:
        return f"its mean weight on validation rows is {numbers[-1]:.2f}, not {GUARD[0]:g} to {GUARD[1]:g}"
    return "it may have learned from the rows that judge it" if may_have_seen(method, metrics) else ""


def may_have_seen(method: str, noted: Mapping[str, object]) -> bool:
    """Whether a policy may be judged by validation rows that it learned from; older runs do not note it."""
    return bool(float(str(noted.get("validation_seen", float(reads(method, "fit_all"))))))


@dataclass(frozen=True, order=True)
class Order:
    """Policies from the one to choose: what may be chosen, the lower risk, then `RULE_OF_TIES`.

    Methods of equal risk stand as in `METHODS`, where `auto` comes after what it chooses from.
    """

    barred: bool
    risk: float
    place: int
    seed: int


def order_of(barred: bool, risk: float, method: str, seed: int) -> Order:
    """The place of a policy among others; every choice among policies has this order."""
    return Order(barred, risk, place(method), seed)


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan
