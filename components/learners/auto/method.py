"""`auto`, the default: a portfolio of candidates, each judged on contexts that it has not seen.

Candidates are the best logger sharpened and greedy, and the policy of the loss model (`additive` for label
vectors, `dm` for one of K actions). Where that is not shown to be better, or the loss does not add up, `dr`,
`weighted-exact`, `balanced-exact` and `ls` are learned too, each without the contexts that it is judged on.
Of those that are shown to be better than every logger, the one with the best estimate is returned; where none
is, the best logger is. A policy that is returned and is no logger is meant to be no worse than the best
logger with a chance of at least `confidence`; `verdict.py` says what that rests on. Not in the paper.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.direct_method.method import AdditiveSoftSettings
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.loss_models.settings import MOST_EPOCHS, Start
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class AutoSettings(AdditiveSoftSettings):
    """Those of the loss model, and how a candidate is shown to be better than the loggers.

    The loss model has what follows from the log: several starts, blended by held-out error.
    """

    hidden: Annotated[
        tuple[int, ...], About("nodes of each hidden layer of the policy", least=1, most=100_000)
    ] = (256,)
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 15
    epochs: Annotated[
        int, About("epochs, at most; the rate falls to 0 over them; 0: from the number of contexts", least=0)
    ] = 0
    most_epochs: Annotated[int, About("epochs, at most, where epochs is 0 and contexts are few", least=1)] = (
        MOST_EPOCHS
    )
    context_batch: Annotated[int, About("contexts a step; 0 for a 32nd of them, 16 to 128", least=0)] = 0
    input_dropout: Annotated[float, About("share of inputs left out at random", least=0, below=1)] = 0.4
    hidden_dropout: Annotated[
        float, About("share of hidden nodes of the loss model left out at random", least=0, below=1)
    ] = 0.3
    start: Annotated[Start, About("how networks begin: scratch, rates, add, copy, best or blend")] = (
        Start.BLEND
    )
    fit_all: Annotated[
        bool, About("fit the loss model to the validation rows too, if the log is in memory")
    ] = True
    contest: Annotated[
        bool, About("let dr, -exact and ls compete where the loss model is not shown to be better")
    ] = True
    evidence: Annotated[
        Evidence, About("what may show an improvement: any, or weights, which assume nothing of the loss")
    ] = Evidence.ANY
    confidence: Annotated[
        float, About("least chance that what is returned is no worse than the best logger", above=0, below=1)
    ] = 0.95

    @property
    def planned_epochs(self) -> int:
        return super().planned_epochs + 1


def _build(log: "LearnerLog", settings: AutoSettings, seed: int) -> "Learner":
    from multilogger.components.learners.auto.learner import AutoLearner

    return AutoLearner(log, settings, seed)


AUTO = Method("auto", "Auto", Group.PORTFOLIO, AutoSettings, _build)
