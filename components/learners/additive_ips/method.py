"""The method `additive-ips`: importance weights that add up over labels (Swaminathan et al. 2017).

min_h of the estimators of `estimators/additive_weights.py`, for label vectors whose loss adds up over labels.
The loggers' policies must be known. Not in the paper.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import WARM_START, DescentSettings, PessimismSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


class Family(StrEnum):
    """Whose weights: each row's own logger's, all alike or weighed by support, or those of all together."""

    NAIVE = "naive"
    WEIGHTED = "weighted"
    BALANCED = "balanced"


@dataclass(frozen=True)
class AdditiveIpsSettings(DescentSettings, PessimismSettings):
    """A network on losses with additive weights."""

    family: Annotated[Family, About("additive weights: naive, weighted, balanced")] = Family.BALANCED
    least_variance: Annotated[
        float, About("least p (1 - p) of a label under a logger that weights are made of", above=0, most=0.25)
    ] = 0.005
    warm_start: Annotated[int, WARM_START] = -1


def _build(log: "LearnerLog", settings: AdditiveIpsSettings, seed: int) -> "Learner":
    from multilogger.components.learners.additive_ips.learner import AdditiveIpsLearner

    return AdditiveIpsLearner(log, settings, seed)


ADDITIVE_IPS = Method(
    "additive-ips",
    "Additive-IPS",
    Group.SMOOTHED,
    AdditiveIpsSettings,
    _build,
    frozenset({Needs.LOGGER_POLICIES}),
    spaces=frozenset({"labels"}),
)
