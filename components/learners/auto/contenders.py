"""Candidates of `auto` that learn from weights, and their settings, which follow from the log.

They are `dr`, and `weighted-exact`, `balanced-exact` and logarithmic smoothing `ls` from a copy of the best
logger. None of them needs a loss that adds up over labels.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, TypeVar

from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.dr.method import DR, DrSettings
from multilogger.components.learners.exact.method import (
    BALANCED_EXACT,
    WEIGHTED_EXACT,
    BalancedExactSettings,
    WeightedExactSettings,
)
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.smooth.method import LS, LsSettings
from multilogger.components.learners.training.method import Method
from multilogger.components.learners.training.network_learner import CLONED_ROWS
from multilogger.components.learners.training.settings import Settings
from multilogger.components.log.disk import LearnerLog

MEMBERS = 3  # of the loss model that `dr` begins with
MOST_ROWS = 50_000  # that they learn from, drawn at random; the rest judges them too
MOST_EPOCHS, FEWEST_EPOCHS, PATIENCE = 40, 5, 10
MOST_WORK = 3e10  # of all policies of a contest, in the units of `LossModelSettings.work`
POLICIES = 8
COPY_STEPS, COPY_RATE = 200, 1e-2  # of the copy of the best logger that they begin as

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Contender:
    """A method, and its settings as they follow from those of `auto` and from the log."""

    method: Method
    settings: Callable[[AutoSettings, LearnerLog], Settings]


def _dr(given: AutoSettings, log: LearnerLog) -> DrSettings:
    """The loss model as it is in `auto`, but for a single start and fewer members."""
    start = Start.RATES if given.start in (Start.BEST, Start.BLEND) else given.start
    return _like(
        given,
        DrSettings(),
        start=start,
        folds=min(MEMBERS, given.folds),
        model_epochs=given.epochs,
        epochs=_epochs(given, log),
        patience=min(PATIENCE, given.patience),
        batch_size=_batch(log),
    )


def _warm(given: AutoSettings, log: LearnerLog, usual: S, **values: Any) -> S:
    """A policy that starts as a copy of the best logger."""
    passes = -(-COPY_STEPS // max(1, log.contexts // CLONED_ROWS))
    return _like(
        given,
        usual,
        epochs=_epochs(given, log),
        patience=min(PATIENCE, given.patience),
        batch_size=_batch(log),
        warm_start=passes,
        warm_start_rate=COPY_RATE,
        warm_up_epochs=0,
        **values,
    )


def _batch(log: LearnerLog) -> int:
    """Rows of each logger a step: a fortieth, 100 to 1,000."""
    return max(100, min(1000, min(log.rows, MOST_ROWS) // (40 * log.loggers)))


def _epochs(given: AutoSettings, log: LearnerLog) -> int:
    """Epochs of a policy, no more than the work of all of them allows."""
    rows, batch = min(log.rows, MOST_ROWS), _batch(log)
    widths = (log.features, *given.hidden, log.space.size)
    parameters = sum(one * other for one, other in pairwise(widths))
    epoch = rows / (batch * log.loggers) * parameters * (1.0 + batch * log.loggers / 128)
    allowed = max(FEWEST_EPOCHS, int(MOST_WORK / (POLICIES * epoch)))
    return min(given.epochs or MOST_EPOCHS, MOST_EPOCHS, allowed)


def _like(given: AutoSettings, usual: S, **values: Any) -> S:
    """Settings of another method with the network and the rules of `auto`; what they lack is left out."""
    own = {field.name for field in fields(usual)}
    shared = {"hidden", "batch_norm", "standardise", "pessimism", "clip", "weight_decay"}
    if isinstance(usual, DrSettings):
        shared = {field.name for field in fields(given)}
    taken = {name: getattr(given, name) for name in shared & own}
    return replace(usual, **taken | {name: value for name, value in values.items() if name in own})


def _kappa(labels: float, one_of: float) -> Callable[[LearnerLog], float]:
    return lambda log: labels if log.space.action_shape else one_of


CONTENDERS = (
    Contender(DR, _dr),
    Contender(
        WEIGHTED_EXACT,
        lambda given, log: _warm(given, log, WeightedExactSettings(), kappa=_kappa(24.0, 2.0)(log)),
    ),
    Contender(
        BALANCED_EXACT,
        lambda given, log: _warm(given, log, BalancedExactSettings(), kappa=_kappa(9.7, 1.0)(log)),
    ),
    Contender(LS, lambda given, log: _warm(given, log, LsSettings())),
)
