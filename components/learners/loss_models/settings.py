"""The settings of loss models: an ensemble of networks, each blind to one fold of the contexts.

The defaults were chosen by squared error on the rows of contexts that no member has seen.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Self

from multilogger.components.learners.training.about import MOST_DECAY, MOST_RATE, About
from multilogger.components.learners.training.settings import ClipSettings, NetworkSettings

FEWEST_EPOCHS, MOST_EPOCHS, STEPS = 5, 50, 3400


class Start(StrEnum):
    """Where the networks of a loss model begin.

    `scratch`: as drawn. `rates`: at the rate of each label in the log. `add`: on top of the best logger's
    logits. `copy`: as a copy of the best logger. `best`: of these the one with the best held-out score.
    `blend`: the mean of these with the best held-out score. A logger that is not known has no `add` or
    `copy`.
    """

    SCRATCH = "scratch"
    RATES = "rates"
    ADD = "add"
    COPY = "copy"
    BEST = "best"
    BLEND = "blend"


@dataclass(frozen=True)
class LossModelSettings(NetworkSettings, ClipSettings):
    """An ensemble of loss models, each blind to one fold of the contexts."""

    risk_rate: Annotated[float, About("Adam's rate for the loss model", above=0, most=MOST_RATE)] = 1e-3
    weight_decay: Annotated[float, About("Adam's weight decay", least=0, most=MOST_DECAY)] = 0.1
    epochs: Annotated[
        int, About("epochs, at most; the rate falls to 0 over them; 0: from the number of contexts", least=0)
    ] = 50
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 50
    folds: Annotated[int, About("networks, each blind to one fold of the contexts", least=2)] = 5
    context_batch: Annotated[int, About("contexts a step; 0 for a 32nd of them, 16 to 128", least=0)] = 128
    input_dropout: Annotated[float, About("share of inputs left out at random", least=0, below=1)] = 0.2
    hidden_dropout: Annotated[
        float, About("share of hidden nodes of the loss model left out at random", least=0, below=1)
    ] = 0.0
    start: Annotated[
        Start, About("how networks begin: scratch, rates, add, copy, best or blend", later=True)
    ] = Start.SCRATCH
    fit_all: Annotated[
        bool, About("fit the loss model to the validation rows too, if the log is in memory", later=True)
    ] = False

    def batch_of(self, contexts: int) -> int:
        """Contexts a step, of as many as there are."""
        return self.context_batch or max(16, min(128, round(contexts / 32)))

    def epochs_for(self, contexts: int) -> int:
        """Epochs of as many contexts as there are, where they are not given.

        Choice: 50, but no more than make 3,400 steps: the more contexts there are, the more does a pass
        teach.
        """
        return max(FEWEST_EPOCHS, min(MOST_EPOCHS, round(STEPS * self.batch_of(contexts) / contexts)))

    def resolved(self, contexts: int) -> Self:
        """The same with what follows from the number of contexts."""
        return replace(self, epochs=self.epochs or self.epochs_for(contexts))

    @property
    def planned_epochs(self) -> int:
        return self.epochs or MOST_EPOCHS


@dataclass(frozen=True)
class AdditiveSettings(LossModelSettings):
    """A loss that adds up over labels."""

    working_noise: Annotated[float, About("least variance of a row's loss", above=0, most=1e6)] = 0.02
