"""Supervised data to bandit logs: each logger replays the train split and its losses are recorded.

Every logger and pass has a random stream of its own, taken in row order, so a row is the same
whatever the batch size, the order of the passes or the number of passes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.known_contexts import LogChances, log_chances
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.losses import HAMMING, Loss
from multilogger.components.log.schema import LogRows


class SplitBy(StrEnum):
    """What goes to one side of the validation split as a whole."""

    ROW = "row"
    CONTEXT = "context"


class Stream(StrEnum):
    """The independent uses of randomness; the name is part of the stream's seed."""

    ACTIONS = "actions"
    SPLIT = "split"


@dataclass(frozen=True)
class ReplayPlan:
    """Which actions to draw and which rows to keep aside."""

    seed: int
    validation_share: float
    split_by: SplitBy
    batch_rows: int


def generator(seed: int, stream: Stream, *place: int) -> np.random.Generator:
    """The generator of one use of randomness at one place (logger, pass)."""
    return np.random.default_rng([seed, *stream.value.encode(), *place])


def validation_rows(plan: ReplayPlan, rows: int, logger: int, pass_: int) -> NDArray[np.bool_]:
    """Which rows of one pass are kept aside: exactly the share, rounded, of each pass."""
    place = (logger, pass_) if plan.split_by is SplitBy.ROW else ()
    order = generator(plan.seed, Stream.SPLIT, *place).permutation(rows)
    kept_aside = np.zeros(rows, dtype=np.bool_)
    kept_aside[order[: round(plan.validation_share * rows)]] = True
    return kept_aside


def replay_pass(
    space: ActionSpace,
    logger_logits: list[Matrix],
    truth: Actions,
    logger: int,
    pass_: int,
    plan: ReplayPlan,
    loss: Loss = HAMMING,
    chances: Sequence[LogChances] | None = None,
) -> Iterator[LogRows]:
    """One pass of train through logger j, in batches: y ~ h_j(.|x), delta, log h_k(y|x) for every k.

    `logger_logits` holds the (n, size) logits of every logger, `truth` the true actions. `chances` are of the
    same loggers, made once for all passes; the rows are the same without.
    """
    chances = chances or [log_chances(space, logits, 1) for logits in logger_logits]
    rng = generator(plan.seed, Stream.ACTIONS, logger, pass_)
    rows = len(truth)
    kept_aside = validation_rows(plan, rows, logger, pass_)
    for start in range(0, rows, plan.batch_rows):
        here = slice(start, min(start + plan.batch_rows, rows))
        action = space.draw(logger_logits[logger][here], rng)
        every = np.stack([chance(here, action) for chance in chances], axis=1)
        yield LogRows(
            context=np.arange(here.start, here.stop, dtype=np.int32),
            action=action,
            delta=loss.value(action, truth[here]),
            log_propensity=every[:, logger],
            log_propensities=every,
            validation=kept_aside[here],
        )
