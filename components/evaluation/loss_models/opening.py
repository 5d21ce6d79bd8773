"""Which model of the loss the doubly robust estimate takes, by the actions of its log."""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.loss_models.choice_models import ChoiceNetwork, ChoiceRidge
from multilogger.components.evaluation.loss_models.cross_fitting import Apart, CrossFitted, LogShape
from multilogger.components.evaluation.loss_models.label_models import AdditiveNetwork, LabelRidge

Advance = Callable[[float], None]
Build = Callable[[LogShape, np.random.Generator, Apart | None, Advance], CrossFitted]


class DrModel(StrEnum):
    """The loss model of `dr`: a ridge, or a network of the features; `additive` is that of label vectors."""

    RIDGE = "ridge"
    ADDITIVE = "additive"
    NETWORK = "network"


MODELS: dict[str, dict[DrModel, Build]] = {
    "labels": {
        DrModel.RIDGE: lambda shape, *_: LabelRidge(shape.size, shape.folds),
        DrModel.ADDITIVE: AdditiveNetwork,
        DrModel.NETWORK: AdditiveNetwork,
    },
    "one-of": {
        DrModel.RIDGE: lambda shape, *_: ChoiceRidge(shape.size, shape.folds),
        DrModel.NETWORK: ChoiceNetwork,
    },
}
"""By the name of the action space."""


def open_loss_model(
    space: ActionSpace,
    kind: DrModel,
    shape: LogShape,
    rng: np.random.Generator,
    apart: Apart | None = None,
    advance: Advance = lambda _: None,
) -> CrossFitted:
    """A model that is still to see the rows; `apart` reads features where they do not stand in the rows."""
    known = MODELS[space.name]
    if kind not in known:
        raise BadInput(
            f"the loss model {kind.value!r} of dr is not for actions of kind {space.name!r}; choose one of "
            f"{', '.join(known)}"
        )
    return known[kind](shape, rng, apart, advance)
