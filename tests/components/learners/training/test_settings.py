import json
import math
import re
from dataclasses import asdict, replace

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners.training.settings import LossShift, Weights
from multilogger.components.policies.policy import settings_from_json
from tests.components.every_setting import EverySetting


def test_defaults_are_what_the_paper_prints() -> None:
    settings = EverySetting()
    assert settings.hidden == (10,)
    assert settings.discriminator_hidden == (59,)
    assert settings.batch_size == 500
    rates = (settings.risk_rate, settings.regulariser_rate, settings.discriminator_rate)
    assert rates == (1e-4, 1e-4, 2.5e-4)


def test_raw_weights_are_not_cut() -> None:
    assert EverySetting(weights=Weights.RAW, clip=5.0).weight_clip == math.inf
    assert EverySetting(weights=Weights.CLIP, clip=5.0).weight_clip == 5.0


def test_settings_survive_json() -> None:
    settings = EverySetting(hidden=(7, 7), loss_shift=LossShift.POEM, clip=math.inf, kappa=3)
    assert settings_from_json(json.loads(json.dumps(asdict(settings)))) == settings


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("clip", 0.0, "clip must be above 0, got 0.0"),
        ("tau", -1.0, "tau must be above 0, got -1.0"),
        ("kappa", 0.0, "kappa must be above 0, got 0.0"),
        ("risk_rate", float("nan"), "risk_rate must be above 0, got nan"),
        ("epochs", 0, "epochs must be at least 1, got 0"),
        ("passes_per_epoch", 0, "passes_per_epoch must be at least 1, got 0"),
        ("least_effective_rows", -1.0, "least_effective_rows must be at least 0, got -1.0"),
        ("constraint_floor", 1.0, "constraint_floor must be at least 0 and below 1, got 1.0"),
        ("weight_decay", -0.1, "weight_decay must be at least 0, got -0.1"),
        ("lambda_floor", 1.0, "lambda_floor must be at least 0 and below 1, got 1.0"),
        ("shift_share", 1.5, "shift_share must be at least 0 and at most 1, got 1.5"),
        ("shift_share", -0.5, "shift_share must be at least 0 and at most 1, got -0.5"),
        ("moving_average", 1.0, "moving_average must be at least 0 and below 1, got 1.0"),
        ("wcrm_l2s", (), "wcrm_l2s needs one or more numbers of at least 0, got ()"),
        ("folds", 1, "folds must be at least 2, got 1; none would be left to judge"),
        ("input_dropout", 1.0, "input_dropout must be at least 0 and below 1, got 1.0"),
        ("working_noise", 0.0, "working_noise must be above 0, got 0.0"),
        ("model_epochs", 0, "model_epochs must be at least 1, got 0"),
        ("memory_rows", 0, "memory_rows must be at least 1, got 0"),
        ("loss", "ranking", "unknown loss 'ranking'; choose one of hamming, crowding"),
        ("hidden", (0,), "every hidden layer needs at least 1 node, got (0,)"),
        (
            "least_mean_weight",
            1.5,
            "the guard of model selection must hold a mean weight of 1 between its ends, got 1.5 to 2.0",
        ),
    ],
)
def test_bad_settings(field: str, value: object, message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        replace(EverySetting(), **{field: value})  # type: ignore[arg-type]
