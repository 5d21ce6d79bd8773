"""The settings of loss models: an ensemble of networks, each blind to one fold of the contexts.

The defaults were chosen by squared error on the rows of contexts that no member has seen.
"""

from dataclasses import dataclass
from typing import Annotated

from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.settings import ClipSettings, NetworkSettings


@dataclass(frozen=True)
class LossModelSettings(NetworkSettings, ClipSettings):
    """An ensemble of loss models, each blind to one fold of the contexts."""

    risk_rate: Annotated[float, About("Adam's rate for the loss model", above=0)] = 1e-3
    weight_decay: Annotated[float, About("Adam's weight decay", least=0)] = 0.1
    epochs: Annotated[int, About("epochs, at most; the rate falls to 0 over them", least=1)] = 50
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 50
    folds: Annotated[int, About("networks, each blind to one fold of the contexts", least=2)] = 5
    context_batch: Annotated[int, About("contexts a step; 0 for a 32nd of them, 16 to 128", least=0)] = 128
    input_dropout: Annotated[float, About("share of inputs left out at random", least=0, below=1)] = 0.2
    hidden_dropout: Annotated[
        float, About("share of hidden nodes of the loss model left out at random", least=0, below=1)
    ] = 0.0

    def batch_of(self, contexts: int) -> int:
        """Contexts a step, of as many as there are."""
        return self.context_batch or max(16, min(128, round(contexts / 32)))


@dataclass(frozen=True)
class AdditiveSettings(LossModelSettings):
    """A loss that adds up over labels."""

    working_noise: Annotated[float, About("least variance of a row's loss", above=0)] = 0.02
