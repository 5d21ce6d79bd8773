"""The settings of loss models: an ensemble of networks, each blind to one fold of the contexts.

The defaults were chosen by squared error on the rows of contexts that no member has seen.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, NamedTuple, Self

from multilogger.components.learners.training.about import MOST_DECAY, MOST_RATE, About
from multilogger.components.learners.training.settings import ClipSettings, NetworkSettings

FEWEST_EPOCHS, STEPS = 5, 3400
MOST_EPOCHS = 150  # of `auto`: few contexts teach more in more passes; patience ends what gains no more
MOST_WORK = 3e10  # of all starts; two to three minutes of a core
OF_STEP = 5e4  # work of a step of one network, whatever its size
RACE_SHARE, RACERS, FEWEST_RACED = 0.2, 2, 10


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


class FitSize(NamedTuple):
    """What a loss model is fitted to; `rows` are those of a context, on average."""

    contexts: int
    features: int
    outputs: int
    rows: float


class Race(NamedTuple):
    """How long several starts compete: all of them `first` epochs, then the best `kept`, to `epochs`."""

    epochs: int
    first: int
    kept: int


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
    most_epochs: Annotated[
        int, About("epochs, at most, where epochs is 0 and contexts are few", least=1, later=True)
    ] = 50
    fit_all: Annotated[
        bool, About("fit the loss model to the validation rows too, if the log is in memory", later=True)
    ] = False

    def batch_of(self, contexts: int) -> int:
        """Contexts a step, of as many as there are."""
        return self.context_batch or max(16, min(128, round(contexts / 32)))

    def epochs_for(self, contexts: int) -> int:
        """Epochs of as many contexts as there are, where they are not given.

        Choice: as many as make 3,400 steps, but no more than `most_epochs`: the more contexts there are, the
        more does a pass teach.
        """
        enough = max(FEWEST_EPOCHS, round(STEPS * self.batch_of(contexts) / contexts))
        return min(self.most_epochs, enough)

    def resolved(self, contexts: int) -> Self:
        """The same with what follows from the number of contexts."""
        return replace(self, epochs=self.epochs or self.epochs_for(contexts))

    def work(self, size: FitSize) -> float:
        """How much work one start is: a parameter of a network that a step moves is 1.

        A step has the parameters 1 + B/128 times for a batch of B contexts, two for each label of each row,
        and something in any case. On an idle core a unit took about 5 ns.
        """
        batch = self.batch_of(size.contexts)
        widths = (size.features, *self.hidden, size.outputs)
        parameters = sum(one * other for one, other in pairwise(widths))
        step = parameters * (1.0 + batch / 128) + 2.0 * batch * size.rows * size.outputs + OF_STEP
        steps = self.epochs * size.contexts * (1.0 - 1.0 / self.folds) / batch
        return self.folds * steps * step

    def race(self, size: FitSize, starts: int) -> Race:
        """All starts to the end, unless that is too much work.

        Then all of them have a fifth of the epochs, and the two that err least the others. Where that is too
        much too, epochs are fewer, 10 at least.
        """
        work, kept = starts * self.work(size), min(RACERS, starts)
        if work <= MOST_WORK:
            return Race(self.epochs, self.epochs, starts)
        work *= RACE_SHARE + (1.0 - RACE_SHARE) * kept / starts
        fewest = min(self.epochs, FEWEST_RACED)
        epochs = max(fewest, int(self.epochs * min(1.0, MOST_WORK / work)))
        return Race(epochs, math.ceil(RACE_SHARE * epochs), kept)

    @property
    def planned_epochs(self) -> int:
        return self.epochs or self.most_epochs


@dataclass(frozen=True)
class AdditiveSettings(LossModelSettings):
    """A loss that adds up over labels."""

    working_noise: Annotated[float, About("least variance of a row's loss", above=0, most=1e6)] = 0.02
