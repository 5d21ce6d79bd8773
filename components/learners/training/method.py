"""What a method is: a name, its settings, and how to build its learner. No torch until one is built."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from multilogger.components.actions.space import SPACES
from multilogger.components.errors import BadInput
from multilogger.components.learners.training.settings import Settings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog

    Build = Callable[[LearnerLog, Any, int], Learner]


EVERY_SPACE = frozenset(SPACES)


class Group(StrEnum):
    """Methods of one kind."""

    BASELINE = "baseline"
    DIRECT = "direct"
    CONSTRAINED = "constrained"
    EXACT = "exact"
    SMOOTHED = "smoothed"
    LOSS_MODEL = "loss model"
    PORTFOLIO = "portfolio"
    REFERENCE = "reference"


class Needs(StrEnum):
    """What a method needs of a log beside its rows."""

    ALL_PROPENSITIES = "the propensities of each action under every logger"
    LOGGER_POLICIES = "the loggers' own policies"
    TRUTH = "the true labels of its contexts"


@dataclass(frozen=True)
class Method:
    """A way to learn a policy from a log.

    `build` takes the log, settings of the type `settings`, and a seed. `twin` names the method that differs
    in the constraint alone. A method that `saw_labels` learns from what no log has. `spaces` names the kinds
    of actions that it can learn to take.
    """

    name: str
    title: str
    group: Group
    settings: type[Settings]
    build: "Build"
    needs: frozenset[Needs] = frozenset()
    twin: str = ""
    saw_labels: bool = False
    spaces: frozenset[str] = EVERY_SPACE

    def check_space(self, space: str) -> None:
        """Refuse actions of a kind that the method cannot learn to take."""
        if space not in self.spaces:
            own = ", ".join(sorted(self.spaces))
            raise BadInput(
                f"{self.name} is for actions of the kind {own}, the log has {space}; "
                "take dr, or another method"
            )
