"""Which candidate of a portfolio is shown to be better than every logger, and by what evidence.

`weights` assumes nothing of the loss: contexts are independent, r >= 0, and a logger's h_j/h_avg is at most
n/n_j, so the difference of V has a known least value and `betting_lower_bound` holds for any log. `structure`
takes the doubly robust difference as nearly normal, with the larger of the observed standard error and the
one that the policies predict, because large weights that are rare need not have been seen, and takes off what
no row tells (`untold`). For label vectors it rests on a loss that adds up over labels; for one of K actions,
and for label vectors whose loss does not add up, on a large log, where the loss model is corrected by weights
of whole actions. The latter needs the loggers' policies: without them nobody knows how far a candidate
reaches from what was tried, and `weights` alone count, to which an action that no logger tries is worth
nothing.

A candidate is shown to be better if its lower bound against every logger is above 0. Bounds of all candidates
and both kinds hold at once: each has its share of the chance to fail. Against several loggers no share is
needed, because all of them have to be beaten. A logger whose mean loss lies more than four standard errors
above the best one's is beaten where that is.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.betting import betting_lower_bound
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.judging.judge import Judged, Sums
from multilogger.components.names import logger_name

CLEARLY_WORSE = 4.0  # standard errors
FEWEST_CONTEXTS = 20  # of a difference that is taken as nearly normal


@dataclass(frozen=True)
class Comparison:
    """A candidate against the best logger: how much less it loses, and the standard error of that.

    `untold` is what no row tells of, at the worst; the improvement may be less by as much.
    `by_weights` and `by_structure` are lower bounds of what it gains over every logger; -inf where a kind of
    evidence says nothing. Where the loss does not add up over labels (`adds`), the second has weights of
    whole actions.
    """

    name: str
    improvement: float
    standard_error: float
    by_weights: float
    by_structure: float
    untold: float = 0.0
    adds: bool = True

    @property
    def shown_by(self) -> str:
        """The kind of evidence that the improvement rests on; empty where none is shown."""
        if self.by_weights > 0:
            return "weights"
        if self.by_structure > 0:
            return "structure" if self.adds else "weights, nearly normal"
        return ""

    @property
    def shown(self) -> float:
        """The lower bound by the kind of evidence that the improvement rests on."""
        return self.by_weights if self.by_weights > 0 else self.by_structure

    @property
    def lower(self) -> float:
        return max(self.by_weights, self.by_structure)


@dataclass(frozen=True)
class Verdict:
    """The best logger and its mean loss, every candidate, and the number of the chosen one, None for none.

    `left_out` are candidates that were not learned, each with the reason.
    """

    best_logger: int
    mean_loss: float
    comparisons: tuple[Comparison, ...]
    chosen: int | None
    confidence: float
    left_out: tuple[tuple[str, str], ...] = ()


def verdict_facts(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON values; a bound that says nothing is null."""
    return {
        "best_logger": logger_name(verdict.best_logger),
        "mean_loss": verdict.mean_loss,
        "confidence": verdict.confidence,
        "chosen": None if verdict.chosen is None else verdict.comparisons[verdict.chosen].name,
        "candidates": [
            {n: v if not isinstance(v, float) or math.isfinite(v) else None for n, v in asdict(one).items()}
            | {"shown_by": one.shown_by}
            for one in verdict.comparisons
        ],
        "left_out": dict(verdict.left_out),
    }


def best_and_close_loggers(losses: Matrix, rows: Vector) -> tuple[int, list[int]]:
    """The logger of the least mean loss, and those that may be as good, from losses by context (J, m)."""
    means = [_difference(loss, np.zeros(len(rows)), rows)[0] for loss in losses]
    best = int(np.argmin(means))
    close = []
    for j, loss in enumerate(losses):
        gap, error = _difference(loss, losses[best], rows)[:2]
        if j == best or gap <= CLEARLY_WORSE * error:
            close.append(j)
    return best, close


def decide(
    names: Sequence[str],
    judged: Judged,
    evidence: Evidence,
    adds: bool,
    confidence: float,
    pessimism: float,
    among: int = 0,
) -> Verdict:
    """Compare every candidate with the loggers; of those that are shown to be better take the best.

    `among` are all candidates that may have a share of the chance to fail, where these are not all.
    """
    best, close = best_and_close_loggers(judged.own_losses, judged.rows)
    modelled = evidence is Evidence.ANY and not np.isnan(judged.spread).any()
    kinds = 2 if modelled else 1
    eta = (1.0 - confidence) / (max(1, len(names), among) * kinds)
    comparisons = []
    for number, name in enumerate(names):
        found = (structure_gain if modelled else reward_gain)(judged, number, best)
        by_weights = min(_weights_bound(judged, number, j, eta) for j in close)
        by_structure = -math.inf
        if modelled:
            by_structure = min(_structure_bound(judged, number, j, eta) for j in close)
        comparisons.append(Comparison(name, *found[:2], by_weights, by_structure, found.untold, adds))
    return Verdict(
        best_logger=best,
        mean_loss=float(judged.own_losses[best].sum() / judged.rows.sum()),
        comparisons=tuple(comparisons),
        chosen=best_shown(comparisons, pessimism),
        confidence=confidence,
    )


def best_shown(comparisons: Sequence[Comparison], pessimism: float) -> int | None:
    """Of candidates that are shown to be better the best one's number, None if there is none.

    It has the largest improvement less `untold` and `pessimism` standard errors.
    """
    scores = {
        number: one.improvement - one.untold - pessimism * one.standard_error
        for number, one in enumerate(comparisons)
        if one.shown_by
    }
    return max(scores, key=scores.__getitem__) if scores else None


def joined(first: Verdict, later: Verdict, pessimism: float) -> Verdict:
    """A verdict with the candidates of a later one too, each as it was judged there.

    Shares of the chance to fail have to be among the candidates of both.
    """
    every = (*first.comparisons, *later.comparisons)
    return replace(first, comparisons=every, chosen=best_shown(every, pessimism))


class Gain(NamedTuple):
    """How much less a candidate loses than a logger, the standard error of that, and what no row tells."""

    value: float
    standard_error: float
    untold: float = 0.0


def reward_gain(judged: Judged, number: int, logger: int) -> Gain:
    """By weights alone."""
    gain, error, _ = _rewards(judged, number, logger)
    return Gain(judged.max_loss * gain, judged.max_loss * error)


def _rewards(judged: Judged, number: int, logger: int) -> tuple[float, float, Vector]:
    return _difference(judged.candidates[number].reward, judged.loggers[logger].reward, judged.rows)


def _weights_bound(judged: Judged, number: int, logger: int, eta: float) -> float:
    values = _rewards(judged, number, logger)[2]
    seen = judged.rows > 0
    most = float(judged.largest[logger][seen].max()) * seen.sum() / judged.rows.sum()
    return judged.max_loss * float(betting_lower_bound(values, -float(most), eta))


def _structure_bound(judged: Judged, number: int, logger: int, eta: float) -> float:
    contexts = int((judged.rows > 0).sum())
    if contexts < FEWEST_CONTEXTS:
        return -math.inf
    gain = structure_gain(judged, number, logger)
    return gain.value - gain.untold + float(stdtrit(contexts - 1, eta)) * gain.standard_error


def structure_gain(judged: Judged, number: int, logger: int) -> Gain:
    """Doubly robust, with the larger of its two standard errors."""
    one, other = judged.candidates[number], judged.loggers[logger]
    gain, error, _ = _difference(other.loss, one.loss, judged.rows)
    predicted = _predicted_variance(judged, one, other, judged.spread[number, logger])
    untold = float(np.sum(judged.rows * np.nan_to_num(judged.untold[number, logger])) / judged.rows.sum())
    return Gain(gain, math.sqrt(max(error**2, predicted)), untold)


def _predicted_variance(judged: Judged, one: Sums, other: Sums, spread: Vector) -> float:
    """Of the mean difference: of its weights by the policies alone, and of the model's part over contexts."""
    rows = judged.rows
    modelled = np.where(rows > 0, other.modelled - one.modelled, 0.0)
    error = _difference(rows * modelled, np.zeros(len(rows)), rows)[1]
    weighed = judged.noise * float(np.sum(rows * spread)) / float(rows.sum()) ** 2
    total = weighed + error**2
    return total if math.isfinite(total) else 0.0 if math.isnan(total) else math.inf


def _difference(one: Vector, other: Vector, rows: Vector) -> tuple[float, float, NDArray[np.float64]]:
    """Mean over rows of what two sums by context differ by, its standard error, and the values by context."""
    seen = rows > 0
    contexts = int(seen.sum())
    values = (one - other)[seen] * (contexts / rows.sum())
    error = float(values.std(ddof=1)) / math.sqrt(contexts) if contexts > 1 else math.inf
    return float(values.mean()), error, np.asarray(values)
