"""What is said of the settings that a method reads, against what it does with them."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.readers import reads, unread
from multilogger.components.learners.training.settings import READERS
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import EverySetting, learn

OTHER_TEXTS = {
    "divergence": "exact",
    "regression": "free",
    "loss": "crowding",
    "loss_shift": "poem",
    "weights": "raw",
}


def another(name: str, value: Any) -> Any:
    """A valid value that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return type(value)(OTHER_TEXTS[name])
    if isinstance(value, tuple):
        return (*value, 7)
    return value + 1 if isinstance(value, int) else 0.5 * value + 0.1


@pytest.mark.parametrize("method", METHODS)
def test_settings_that_are_not_read_change_no_bit(method: str, log: TrainingLog, quick: EverySetting) -> None:
    settings = replace(quick, epochs=3, model_epochs=2, warm_up_epochs=1)
    others = {n: another(n, value) for n, value in asdict(settings).items() if not reads(method, n)}
    assert others
    usual, changed = (learn(method, log, s, 0).policy for s in (settings, replace(settings, **others)))
    np.testing.assert_array_equal(usual.logits(log.x), changed.logits(log.x))


@pytest.mark.parametrize("name", ["tau", "regulariser_rate", "discriminator_rate", "warm_up_steps"])
def test_settings_that_are_read_change_what_is_learned(
    name: str, log: TrainingLog, quick: EverySetting
) -> None:
    settings = replace(quick, epochs=3, kappa=1e-6, warm_up_steps=50)
    changed = replace(settings, **{name: another(name, getattr(settings, name))})
    usual, other = (learn("weighted-reg", log, s, 0).policy.logits(log.x) for s in (settings, changed))
    assert np.abs(usual - other).max() > 0


def test_every_reader_is_a_method() -> None:
    for name, readers in READERS.items():
        parts = [part for part in readers if part != "not"]
        assert all(any(part in method for method in METHODS) for part in parts), name


def test_what_is_wrong_with_a_setting() -> None:
    assert unread("weighted", ["tau", "clip"]) == ["tau: weighted does not read it (read by -reg methods)"]
    assert unread("crf", ["clip"]) == ["clip: crf learns nothing"]
    assert unread("weighted-reg", ["tau", "clip", "lambda_floor"]) == []
    assert unread("wcrm", ["epochs"]) == ["epochs: wcrm does not read it (read by all but wcrm)"]
    assert unread("additive-soft", ["folds"]) == []
