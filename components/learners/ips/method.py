"""Direct learning: `naive`, `weighted` and `balanced` (sections 2.1 and 6).

min_h sum_j n_j lambda_j mean_i w_i l_i, with w = h/h_j and lambda_j = 1/n (naive) or lambda*_j (weighted), or
with w = h/h_avg (balanced); l is the shifted loss.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import LambdaSettings, RiskSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.learners.training.method import Build
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class WeightedSettings(LambdaSettings, RiskSettings):
    """With lambda*."""


def _build(estimator: str) -> "Build":
    def build(log: "LearnerLog", settings: RiskSettings, seed: int) -> "Learner":
        from multilogger.components.learners.ips.direct import DirectLearner
        from multilogger.components.learners.training.objectives import OBJECTIVES

        return DirectLearner(log, OBJECTIVES[estimator], settings, seed)

    return build


NAIVE = Method("naive", "Naive", Group.DIRECT, RiskSettings, _build("naive"))
WEIGHTED = Method("weighted", "Weighted", Group.DIRECT, WeightedSettings, _build("weighted"))
BALANCED = Method(
    "balanced",
    "Balanced",
    Group.DIRECT,
    RiskSettings,
    _build("balanced"),
    needs=frozenset({Needs.ALL_PROPENSITIES}),
)
