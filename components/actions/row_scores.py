"""What an evaluation asks of a policy at the rows of a log, from one look at its logits.

The same figures as those of the space, to the last few bits, in a third of the time: no figure is made
twice.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import marginals
from multilogger.components.actions.space import ActionSpace


@dataclass(frozen=True)
class RowScores:
    """log h(y|x) of the logged and of the likeliest action, whether they are one, and `chances` (n, size)."""

    log_target: Vector
    log_greedy: Vector
    is_greedy: NDArray[np.bool_]
    chances: Matrix


def _labels(logits: Matrix, action: Actions) -> RowScores:
    surest = np.abs(logits)
    greedy = log_expit(surest)
    agrees = (logits > 0) == (action > 0)
    # log(1 - p) = log p - z where a label is not the likelier one.
    target = np.where(agrees, greedy, greedy - surest)
    return RowScores(target.sum(axis=1), greedy.sum(axis=1), agrees.all(axis=1), marginals(logits))


def _one_of(logits: Matrix, action: Actions) -> RowScores:
    rows = np.arange(len(action))
    likeliest = logits.argmax(axis=1)
    chances = logits - logits[rows, likeliest][:, None]
    off = chances[rows, action]
    np.exp(chances, out=chances)
    total = chances.sum(axis=1)
    chances /= total[:, None]
    log_greedy = -np.log(total)
    return RowScores(off + log_greedy, log_greedy, likeliest == action, chances)


SCORES: dict[str, Callable[[Matrix, Actions], RowScores]] = {"labels": _labels, "one-of": _one_of}
"""By the name of the action space."""


def row_scores(space: ActionSpace, logits: Matrix, action: Actions) -> RowScores:
    """Of logits (n, size) and as many actions."""
    return SCORES[space.name](logits, action)
