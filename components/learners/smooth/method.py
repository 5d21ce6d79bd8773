"""Smoothed rewards on balanced weights: `ls` and `ix`. Neither is in the paper.

With h_avg the average logger, w = h/h_avg and r = 1 - delta / largest loss,

max_h (1/n) sum_i M log(1 + w_i r_i / M)  by logarithmic smoothing, `ls` (Sakhi et al., NeurIPS 2024);
max_h (1/n) sum_i r_i h / (h_avg + gamma)  by implicit exploration, `ix` (Gabbianelli, Neu, Papini 2024).
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


@dataclass(frozen=True)
class IxSettings(DescentSettings):
    """A network on rewards whose propensities are raised."""

    gamma: Annotated[
        float, About("added to propensities; 0: half of one over the root of the training rows", least=0)
    ] = 0.0
    warm_start: Annotated[int, WARM_START] = -1


def _build_ls(log: "LearnerLog", settings: LsSettings, seed: int) -> "Learner":
    from multilogger.components.learners.smooth.learner import LogSmoothingLearner

    return LogSmoothingLearner(log, settings, seed)


def _build_ix(log: "LearnerLog", settings: IxSettings, seed: int) -> "Learner":
    from multilogger.components.learners.smooth.learner import ImplicitLearner

    return ImplicitLearner(log, settings, seed)


LS = Method("ls", "LS", Group.SMOOTHED, LsSettings, _build_ls, frozenset({Needs.ALL_PROPENSITIES}))
IX = Method("ix", "IX", Group.SMOOTHED, IxSettings, _build_ix, frozenset({Needs.ALL_PROPENSITIES}))
