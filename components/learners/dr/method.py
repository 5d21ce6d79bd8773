"""`dr`, doubly robust learning: a policy that starts from the additive model's and is corrected by weights.

Not in the paper.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

from multilogger.components.learners.direct_method.method import AdditiveSoftSettings
from multilogger.components.learners.training.about import MOST_RATE, About
from multilogger.components.learners.training.method import Group, Method
from multilogger.components.learners.training.settings import BatchSettings, ClipSettings, PessimismSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class DrSettings(AdditiveSoftSettings, BatchSettings, ClipSettings, PessimismSettings):
    """The additive model, then a policy."""

    model_epochs: Annotated[
        int, About("epochs of the loss model; 0: from the number of contexts", least=0)
    ] = 50
    epochs: Annotated[int, About("epochs of the policy, at most", least=1)] = 30
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 10
    sharpness: Annotated[
        float, About("what the additive logits are multiplied by at the policy's start", above=0, most=1e6)
    ] = 3.0
    policy_rate: Annotated[
        float, About("rate of the policy, which starts from the additive one", above=0, most=MOST_RATE)
    ] = 1e-3

    @property
    def planned_epochs(self) -> int:
        return (self.model_epochs or self.most_epochs) + self.epochs

    def resolved(self, contexts: int) -> Self:
        return replace(self, model_epochs=self.model_epochs or self.epochs_for(contexts))


def _build(log: "LearnerLog", settings: DrSettings, seed: int) -> "Learner":
    from multilogger.components.learners.dr.dr import DoublyRobustLearner

    return DoublyRobustLearner(log, settings, seed)


DR = Method("dr", "Doubly robust", Group.LOSS_MODEL, DrSettings, _build)
