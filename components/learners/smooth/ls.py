"""The method `ls`: logarithmic smoothing on balanced weights (Sakhi et al., NeurIPS 2024).

max_h (1/n) sum_i M log(1 + w_i r_i / M), with w = h/h_avg and r = 1 - delta / largest loss. Not in the paper.
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
class LsSettings(DescentSettings):
    """A network on smoothed rewards."""

    smoothing: Annotated[
        float, About("M of logarithmic smoothing; 0: the square root of the training rows", least=0)
    ] = 0.0
    warm_start: Annotated[int, WARM_START] = -1


def _build(log: "LearnerLog", settings: LsSettings, seed: int) -> "Learner":
    from multilogger.components.learners.smooth.learner import LogSmoothingLearner

    return LogSmoothingLearner(log, settings, seed)


LS = Method("ls", "LS", Group.SMOOTHED, LsSettings, _build, frozenset({Needs.ALL_PROPENSITIES}))
