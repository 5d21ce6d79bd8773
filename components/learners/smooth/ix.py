"""The method `ix`: implicit exploration on the average logger (Gabbianelli, Neu, Papini 2024).

max_h (1/n) sum_i r_i h / (h_avg + gamma), with r = 1 - delta / largest loss. Not in the paper.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import WARM_START, DescentSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class IxSettings(DescentSettings):
    """A network on rewards whose propensities are raised."""

    gamma: Annotated[
        float, About("added to propensities; 0: half of one over the root of the training rows", least=0)
    ] = 0.0
    warm_start: Annotated[int, WARM_START] = -1


def _build(log: "LearnerLog", settings: IxSettings, seed: int) -> "Learner":
    from multilogger.components.learners.smooth.learner import ImplicitLearner

    return ImplicitLearner(log, settings, seed)


IX = Method("ix", "IX", Group.SMOOTHED, IxSettings, _build, frozenset({Needs.ALL_PROPENSITIES}))
