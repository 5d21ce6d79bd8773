"""`full-information`: the same network on the true labels that bandit learners never see. A reference."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.datasets.losses import find_loss
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import BatchSettings, NetworkSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class FullInformationSettings(NetworkSettings, BatchSettings):
    """A network on true labels; the dataset says the loss."""

    loss: Annotated[str, About("what an action costs; the dataset says it", keyed=False)] = "hamming"

    def __post_init__(self) -> None:
        super().__post_init__()
        find_loss(self.loss)


def _build(log: "LearnerLog", settings: FullInformationSettings, seed: int) -> "Learner":
    from multilogger.components.learners.full_information.learner import FullInformationLearner

    return FullInformationLearner(log, settings, seed)


FULL_INFORMATION = Method(
    "full-information",
    "Full information",
    Group.REFERENCE,
    FullInformationSettings,
    _build,
    frozenset({Needs.TRUTH}),
    saw_labels=True,
)
