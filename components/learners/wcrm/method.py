"""`wcrm`, weighted counterfactual risk minimisation (section 2.1.2): the paper's baseline, by Su et al."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.errors import BadInput
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method
from multilogger.components.learners.training.settings import (
    GuardSettings,
    LambdaSettings,
    WarmStartSettings,
    WeightSettings,
)

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class WcrmSettings(LambdaSettings, WarmStartSettings, WeightSettings, GuardSettings):
    """A linear policy for each point of a grid.

    Tried by hand on Yeast alone: on validation seed 100 points with an l2 of 1e-3 or a clip of 100 were 0.3
    to 4 above the best; on seeds 100-103 all points of the default grid are within 0.3 of each other.
    """

    wcrm_clips: Annotated[
        tuple[float, ...], About("cuts of the weights to try; 0 for POEM's own", least=0)
    ] = (3.0, 10.0)
    wcrm_variances: Annotated[tuple[float, ...], About("penalties of the variance to try", least=0)] = (1.0,)
    wcrm_l2s: Annotated[tuple[float, ...], About("L2 penalties to try", least=0)] = (0.03, 0.1, 0.3)
    wcrm_rounds: Annotated[int, About("rounds of L-BFGS a choice, lambda* fixed in each", least=1)] = 5
    wcrm_iterations: Annotated[int, About("iterations a round, at most", least=1)] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("wcrm_clips", "wcrm_variances", "wcrm_l2s"):
            if not getattr(self, name):
                raise BadInput(f"{name} needs one or more numbers, got none; leave it out for the default")

    @property
    def planned_epochs(self) -> int:
        return len(self.wcrm_clips) * len(self.wcrm_variances) * len(self.wcrm_l2s)


def _build(log: "LearnerLog", settings: WcrmSettings, seed: int) -> "Learner":
    from multilogger.components.learners.wcrm.wcrm import WCRMLearner

    return WCRMLearner(log, settings, seed)


WCRM = Method("wcrm", "WCRM", Group.BASELINE, WcrmSettings, _build)
