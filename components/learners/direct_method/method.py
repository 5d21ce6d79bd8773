"""`additive`, `additive-soft` and `dm`, the direct method: the policy that a model of the loss finds best.

Not in the paper. `additive` is for label vectors, `dm` for one of K actions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from multilogger.components.learners.loss_models.settings import AdditiveSettings, LossModelSettings
from multilogger.components.learners.training.method import Group, Method
from multilogger.components.learners.training.settings import PessimismSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.learners.training.method import Build
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class AdditiveSoftSettings(AdditiveSettings, PessimismSettings):
    """The same, and a sharpness that validation rows choose."""


@dataclass(frozen=True)
class DmSettings(LossModelSettings):
    """A model of the chance that each action is right."""


def _build(soft: bool) -> "Build":
    def build(log: "LearnerLog", settings: LossModelSettings, seed: int) -> "Learner":
        from multilogger.components.learners.direct_method.learner import DirectMethodLearner

        return DirectMethodLearner(log, soft, settings, seed)

    return build


LABELS, ONE_OF = frozenset({"labels"}), frozenset({"one-of"})
ADDITIVE = Method(
    "additive", "Additive", Group.LOSS_MODEL, AdditiveSettings, _build(soft=False), spaces=LABELS
)
ADDITIVE_SOFT = Method(
    "additive-soft",
    "Additive, soft",
    Group.LOSS_MODEL,
    AdditiveSoftSettings,
    _build(soft=True),
    spaces=LABELS,
)
DM = Method("dm", "Loss model", Group.LOSS_MODEL, DmSettings, _build(soft=False), spaces=ONE_OF)
