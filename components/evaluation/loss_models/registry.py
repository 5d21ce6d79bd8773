"""Which model of the loss the doubly robust estimate takes, by the actions of its log."""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.loss_models.cross_fitting import Apart, CrossFittedModel, LogShape

Advance = Callable[[float], None]
Build = Callable[[LogShape, np.random.Generator, Apart | None, Advance], CrossFittedModel]


class DrModel(StrEnum):
    """The loss model of `dr`: a ridge, that of the least variance, or a network of the features.

    `additive` is the network of label vectors.
    """

    RIDGE = "ridge"
    SMRDR = "smrdr"
    ADDITIVE = "additive"
    NETWORK = "network"

    @property
    def slow(self) -> bool:
        """Whether a person waits for it."""
        return self in (DrModel.ADDITIVE, DrModel.NETWORK)


def _labels(kind: DrModel) -> Build:
    """A model of label vectors; torch is imported when it is built, and not before."""

    def build(
        shape: LogShape, rng: np.random.Generator, apart: Apart | None, advance: Advance
    ) -> CrossFittedModel:
        from multilogger.components.evaluation.loss_models.label_models import AdditiveNetwork, LabelRidge
        from multilogger.components.evaluation.loss_models.least_variance import LabelTerms, LeastVariance

        if kind is DrModel.RIDGE:
            return LabelRidge(shape.size, shape.folds)
        if kind is DrModel.SMRDR:
            return LeastVariance(LabelTerms(), shape)
        return AdditiveNetwork(shape, rng, apart, advance)

    return build


def _one_of(kind: DrModel) -> Build:
    """The same of one-of-K actions."""

    def build(
        shape: LogShape, rng: np.random.Generator, apart: Apart | None, advance: Advance
    ) -> CrossFittedModel:
        from multilogger.components.evaluation.loss_models.choice_models import ChoiceNetwork, ChoiceRidge
        from multilogger.components.evaluation.loss_models.least_variance import ChoiceTerms, LeastVariance

        if kind is DrModel.RIDGE:
            return ChoiceRidge(shape.size, shape.folds)
        if kind is DrModel.SMRDR:
            return LeastVariance(ChoiceTerms(), shape)
        return ChoiceNetwork(shape, rng, apart, advance)

    return build


MODELS: dict[str, dict[DrModel, Build]] = {
    "labels": {kind: _labels(kind) for kind in DrModel},
    "one-of": {kind: _one_of(kind) for kind in DrModel if kind is not DrModel.ADDITIVE},
}
"""By the name of the action space."""


def new_loss_model(
    space: ActionSpace,
    kind: DrModel,
    shape: LogShape,
    rng: np.random.Generator,
    apart: Apart | None = None,
    advance: Advance = lambda _: None,
) -> CrossFittedModel:
    """A model that is still to see the rows; `apart` reads features where they do not stand in the rows."""
    known = MODELS[space.name]
    if kind not in known:
        raise BadInput(
            f"the loss model {kind.value!r} of dr is not for actions of kind {space.name!r}; choose one of "
            f"{', '.join(known)}"
        )
    return known[kind](shape, rng, apart, advance)
