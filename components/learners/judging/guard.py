"""Whether a learned policy is below the best logger, as far as the log that it was learned from tells.

A policy is judged at contexts that it has not seen, where the log has some: those of validation rows alone,
if the split is by context, or all of them by parts that are blind to some each. Else the log is an optimist:
a policy that does not even look better there is not worth having. One of which next to no row speaks is not
known at all.

What it gains is told by the weights of whole actions, which assume nothing, where these speak: of label
vectors, as far as 100 effective rows and a mean weight near 1 do. Else, of loggers that are known, by weights
that add up over labels if the loss does as well, as a test on the log says, and by a loss model with weights
of whole vectors if it does not.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.learners.judging.judge import Judged, judge
from multilogger.components.learners.judging.verdict import (
    FEWEST_CONTEXTS,
    Gain,
    best_and_close_loggers,
    reward_gain,
    structure_gain,
)
from multilogger.components.learners.loss_models.additive import base_rates
from multilogger.components.learners.loss_models.additive_rows import LoggerProducts
from multilogger.components.learners.loss_models.additivity import tested_twice
from multilogger.components.learners.loss_models.form import FORMS, FoldedModel
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.lots import lots
from multilogger.components.names import logger_name

ENOUGH_ROWS = 100.0  # effective ones; below it product weights of label vectors are not relied on,
CLOSE_MEAN_WEIGHT = (0.9, 1.1)  # nor outside: a part of what the policy does is not in the log
FEWEST_ROWS = 10.0  # effective ones; below it weights say nothing
SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Guard:
    """A policy against the best logger of its log, whose mean loss is `mean_loss`.

    `gain` is how much less the policy loses by estimate, with its standard error; NaN where nothing can be
    said. It may be less by `untold`, of which no row tells. `adds` says that it rests on a loss that adds up
    over labels, `seen` that it is of contexts that the policy learned from. Losses lie in [0, `max_loss`].
    """

    logger: int
    mean_loss: float
    gain: float
    standard_error: float
    untold: float
    effective_rows: float
    rows: int
    adds: bool
    seen: bool = False
    max_loss: float = math.inf

    @property
    def impossible(self) -> bool:
        """Whether the estimate of the policy's own loss is no loss that there can be."""
        return not 0.0 <= self.mean_loss - self.gain <= self.max_loss

    @property
    def worse(self) -> bool:
        """Whether it is no better by its own estimate."""
        return self.gain <= 0

    @property
    def unknown(self) -> bool:
        """Whether next to no row speaks of the policy."""
        return math.isnan(self.gain) or (not self.adds and self.effective_rows < FEWEST_ROWS)

    @property
    def in_doubt(self) -> bool:
        """Whether a gain could be chance, or lie where no row tells."""
        return self.gain - self.untold <= SURE * self.standard_error

    def short(self, name: str = "") -> str:
        """The same in a few words for a table, where the logger has this name; empty where all is well."""
        name = name or logger_name(self.logger)
        if self.worse:
            return f"worse than {name} on its own estimate"
        if self.unknown:
            return f"next to no row speaks of it, {name} is known"
        return f"not shown to be better than {name}" if self.in_doubt else ""

    def line(self, method: str, name: str = "") -> str | None:
        """What a person should know, with the better alternative; None where all is well."""
        name = name or logger_name(self.logger)
        rest = ", if the loss adds up over labels" if self.adds else ""
        rest += ", at contexts that it learned from" if self.seen else ""
        largest = "" if math.isinf(self.max_loss) else f" to {self.max_loss:g}"
        outside = f"it is {self.mean_loss - self.gain:.3f}, outside of the possible 0{largest}"
        if self.worse and self.impossible:
            return (
                f"worse than {name} on its own estimate of the loss, though {outside}, so not to be "
                f"trusted{rest}; keep {name}, or learn with auto"
            )
        if self.worse:
            return (
                f"worse than {name} on its own estimate: {method} loses {-self.gain:.3f} more than its "
                f"{self.mean_loss:.3f}{rest}; keep {name}, or learn with auto"
            )
        if self.unknown:
            return (
                f"next to no row speaks of what {method} learned ({self.effective_rows:.1f} effective rows "
                f"of {self.rows:,}): nothing is known of it; keep {name}, or learn with auto"
            )
        if self.in_doubt:
            if self.impossible:
                return (
                    f"{method} is not shown to be better than {name}: its own estimate of the loss is not to "
                    f"be trusted, as {outside}{rest}; auto has a guarantee"
                )
            untold = f", and no row tells of {self.untold:.3f}" if self.untold > 0 else ""
            return (
                f"{method} is not shown to be better than {name}: it loses {self.gain:.3f} less than its "
                f"{self.mean_loss:.3f} on its own estimate{rest}, with a standard error of "
                f"{self.standard_error:.3f}{untold}; auto has a guarantee"
            )
        return None


def guard(log: LearnerLog, logits: Matrix, p: Matrix | None, blind: Matrix | None = None) -> Guard:
    """Compare a policy's logits (m, size) with the best logger; `p` (m, size) is its loss model, if any.

    `blind` (m, size) are logits by who has not seen the context, NaN where nobody is.
    """
    unseen = _unseen(log) if blind is None else np.asarray(~np.isnan(blind).any(axis=1))
    if seen := int(unseen.sum()) < FEWEST_CONTEXTS:
        unseen = np.ones(log.contexts, dtype=np.bool_)
    elif blind is not None:
        logits = np.where(unseen[:, None], blind, 0.0)
    labels = bool(log.space.action_shape)
    knows = bool(log.logger_logits)
    chances = p if p is not None else _flat(log) if labels else np.full((1, log.space.size), 0.5)
    chances = np.broadcast_to(chances, (log.contexts, log.space.size))
    model = FoldedModel(FORMS[log.space.name], chances)
    judged = judge(log, model, [logits], imitate=False)
    best, _ = best_and_close_loggers(judged.own_losses, judged.rows)
    mean = float(judged.own_losses[best].sum() / judged.rows.sum())
    judged = judged.at(unseen)
    effective, adds = judged.candidates[0].effective_rows, False
    if labels and knows and not _speak(judged):
        adds = tested_twice(log, chances)[1]
        if not adds:
            judged = judge(log, model, [logits], imitate=False, adds=False).at(unseen)
        gain = structure_gain(judged, 0, best)
    elif not labels and knows and p is not None:
        gain = structure_gain(judged, 0, best)
    elif effective < FEWEST_ROWS:
        gain = Gain(math.nan, math.nan)
    else:
        gain = reward_gain(judged, 0, best)
    rows, most = int(judged.rows.sum()), float(log.space.largest_loss)
    return Guard(best, mean, *gain, effective, rows, adds, seen, most)


def _speak(judged: Judged) -> bool:
    """Whether weights of whole label vectors say what a policy is worth."""
    sums = judged.candidates[0]
    low, high = CLOSE_MEAN_WEIGHT
    close = low <= float(sums.mass.sum() / judged.rows.sum()) <= high
    return close and sums.effective_rows >= ENOUGH_ROWS


def _unseen(log: LearnerLog) -> NDArray[np.bool_]:
    """The contexts that have validation rows and no training rows: (m,)."""
    if isinstance(log, StreamedLog):
        return np.asarray(log.train_contexts.sum(axis=0) == 0)
    found = np.zeros(log.contexts, dtype=np.bool_)
    found[log.context[log.validation]] = True
    found[log.context[~log.validation]] = False
    return found


def _flat(log: LearnerLog) -> Matrix:
    """The chance of each label whatever the context: (1, q)."""
    size, loggers = log.space.size, log.loggers
    products, moments = np.zeros((loggers, size, size)), np.zeros((loggers, size))
    squares, counts = np.zeros(loggers), np.zeros(loggers)
    for lot in lots(log):
        signs, target = 1.0 - 2.0 * lot.action, lot.delta - lot.action.sum(axis=1)
        for j in range(loggers):
            own = lot.logger == j
            products[j] += signs[own].T @ signs[own]
            moments[j] += signs[own].T @ target[own]
            squares[j] += float(target[own] @ target[own])
            counts[j] += float(own.sum())
    rates = base_rates(LoggerProducts(*map(torch.from_numpy, (products, moments, squares, counts))))
    return rates.numpy()[None, :]
