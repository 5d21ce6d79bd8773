"""The largest number that a setting may have is learned with, or refused in one line; no library warns."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.settings import plain_settings, settings_about
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn

HUGE = 1e308


def huge_numbers(method: str) -> dict[str, Any]:
    """The largest value of every setting that is a number with a fraction, or a list of such."""
    found: dict[str, Any] = {}
    for name, value in plain_settings(METHODS[method].settings()).items():
        about = settings_about(METHODS[method].settings)[name]
        most = min(about.most, HUGE) if about.below > HUGE else 0.0
        if most and isinstance(value, float):
            found[name] = most
        elif most and isinstance(value, list) and value and isinstance(value[0], float):
            found[name] = (most,)
    return found


PAIRS = [(method, name) for method in LABEL_METHODS for name in huge_numbers(method)]


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_a_huge_number_is_learned_with_or_refused(
    method: str, name: str, log: TrainingLog, quick: EverySetting
) -> None:
    usual = replace(
        quick, epochs=3, warm_up_steps=5, warm_up_epochs=1, model_epochs=2, warm_start=1,
        wcrm_clips=(10.0,), wcrm_l2s=(1e-2,), wcrm_rounds=1, wcrm_iterations=5,
    )  # fmt: skip
    with suppress(BadInput):
        learn(method, log, replace(usual, **{name: huge_numbers(method)[name]}), 0)


def test_a_policy_that_is_not_finite_is_told(log: TrainingLog, quick: EverySetting) -> None:
    wild = replace(quick, epochs=200, patience=200, risk_rate=10.0, weight_decay=100.0)
    with pytest.raises(BadInput, match=r"^the policy of weighted is not finite after epoch .*; take smaller"):
        learn("weighted", log, wild, 0)


@pytest.mark.parametrize(
    ("name", "most"), [("risk_rate", 10), ("weight_decay", 100), ("warm_start_rate", 10)]
)
def test_rates_have_an_end(name: str, most: int) -> None:
    with pytest.raises(BadInput, match=rf"^{name} must be .*at most {most}, got 1e\+308"):
        replace(METHODS["weighted"].settings(), **{name: HUGE})  # type: ignore[arg-type]
