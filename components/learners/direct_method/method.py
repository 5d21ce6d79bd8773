"""`additive`, `additive-soft` and `dm`, the direct method: the policy that a model of the loss finds best.

Not in the paper. `additive` is for label vectors, `dm` for one of K actions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.loss_models.settings import AdditiveSettings, LossModelSettings
from multilogger.components.learners.training.about import MOST_RATE, About
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
    """A model of the chance that each action is right.

    Chosen by out-of-fold log loss on parts of the train splits of digits, satimage and optdigits.
    """

    hidden: Annotated[
        tuple[int, ...], About("nodes of each hidden layer of the policy", least=1, most=100_000)
    ] = (256,)
    risk_rate: Annotated[float, About("Adam's rate for the loss model", above=0, most=MOST_RATE)] = 5e-3
    context_batch: Annotated[int, About("contexts a step; 0 for a 32nd of them, 16 to 128", least=0)] = 0
    input_dropout: Annotated[float, About("share of inputs left out at random", least=0, below=1)] = 0.0
    hidden_dropout: Annotated[
        float, About("share of hidden nodes of the loss model left out at random", least=0, below=1)
    ] = 0.3


def _build(soft: bool = False) -> "Build":
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
DM = Method("dm", "Loss model", Group.LOSS_MODEL, DmSettings, _build(), spaces=ONE_OF)
