"""`full-information`: the best we can do with the right actions, which no log has. A reference."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.datasets.losses import find_loss
from multilogger.components.learners.loss_models.settings import LossModelSettings, Start
from multilogger.components.learners.training.about import MOST_DECAY, MOST_RATE, About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import BatchSettings, NetworkSettings

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.log.disk import LearnerLog

ONE_BY_ONE = ("hamming", "zero-one")  # losses that the most likely labels, or the most likely action, lower


@dataclass(frozen=True)
class FullInformationSettings(NetworkSettings, BatchSettings):
    """The limit of what a log can teach; the dataset says the loss.

    It has the networks of the loss models with all that these have (starts, scales, dropout, folds, a choice
    by held-out error), fitted to the right actions and greedy. That is for a loss that one label, or one
    action, decides at a time. Without `ensemble`, and for `crowding`, it is a single network that lowers the
    expected loss itself.
    """

    hidden: Annotated[tuple[int, ...], About("nodes of each hidden layer", least=1, most=100_000)] = (256,)
    risk_rate: Annotated[float, About("Adam's rate", above=0, most=MOST_RATE)] = 1e-3
    weight_decay: Annotated[float, About("Adam's weight decay", least=0, most=MOST_DECAY)] = 0.1
    epochs: Annotated[int, About("epochs, at most: what stands between two validations", least=1)] = 150
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 15
    input_dropout: Annotated[
        float, About("share of inputs of the ensemble left out at random", least=0, below=1)
    ] = 0.4
    start: Annotated[Start, About("where the networks of the ensemble begin, as for loss models")] = (
        Start.BLEND
    )
    ensemble: Annotated[bool, About("the networks of the loss models, not a single one")] = True
    loss: Annotated[str, About("what an action costs; the dataset says it", keyed=False)] = "hamming"

    def __post_init__(self) -> None:
        super().__post_init__()
        find_loss(self.loss)

    def as_loss_model(self, contexts: int) -> LossModelSettings:
        """What the networks are fitted with, beside the settings that both have."""
        shared = {"standardise": self.standardise, "hidden": self.hidden, "weight_decay": self.weight_decay}
        return LossModelSettings(
            **shared,  # type: ignore[arg-type]
            batch_norm=self.batch_norm,
            risk_rate=self.risk_rate,
            patience=self.patience,
            epochs=0,
            most_epochs=self.epochs,
            context_batch=0,
            input_dropout=self.input_dropout,
            hidden_dropout=0.3,
            start=self.start,
        ).resolved(contexts)


def _build(log: "LearnerLog", settings: FullInformationSettings, seed: int) -> "Learner":
    if settings.ensemble and settings.loss in ONE_BY_ONE:
        from multilogger.components.learners.direct_method.learner import DirectMethodLearner

        own = settings.as_loss_model(log.contexts)
        return DirectMethodLearner(log, soft=False, settings=own, seed=seed, truth=True)
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
