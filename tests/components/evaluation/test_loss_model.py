"""Which loss model dr takes, by the action space."""

import numpy as np
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import SPACES, ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.loss_models.choice_models import ChoiceNetwork, ChoiceRidge
from multilogger.components.evaluation.loss_models.cross_fitting import LogShape
from multilogger.components.evaluation.loss_models.label_models import AdditiveNetwork, LabelRidge
from multilogger.components.evaluation.loss_models.least_variance import LeastVariance
from multilogger.components.evaluation.loss_models.registry import MODELS, DrModel, new_loss_model

SHAPE = LogShape(30, 4, 1.0, np.arange(10) % 5)


@pytest.mark.parametrize(
    ("space", "kind", "model"),
    [
        (Labels(4), DrModel.RIDGE, LabelRidge),
        (Labels(4), DrModel.SMRDR, LeastVariance),
        (Labels(4), DrModel.ADDITIVE, AdditiveNetwork),
        (Labels(4), DrModel.NETWORK, AdditiveNetwork),
        (OneOf(4), DrModel.RIDGE, ChoiceRidge),
        (OneOf(4), DrModel.SMRDR, LeastVariance),
        (OneOf(4), DrModel.NETWORK, ChoiceNetwork),
    ],
)
def test_every_space_has_its_models(space: ActionSpace, kind: DrModel, model: type) -> None:
    assert isinstance(new_loss_model(space, kind, SHAPE, np.random.default_rng(0)), model)


def test_every_space_has_a_ridge_and_a_network() -> None:
    assert set(MODELS) == set(SPACES)
    assert all({DrModel.RIDGE, DrModel.SMRDR, DrModel.NETWORK} <= set(models) for models in MODELS.values())


def test_a_model_of_other_actions_is_refused() -> None:
    message = "'additive' of dr is not for actions of kind 'one-of'; choose one of ridge, smrdr, network"
    with pytest.raises(BadInput, match=message):
        new_loss_model(OneOf(4), DrModel.ADDITIVE, SHAPE, np.random.default_rng(0))
