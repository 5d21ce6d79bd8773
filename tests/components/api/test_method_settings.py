"""Settings of scripts become those of learners."""

import pytest

from multilogger.components.api.method_settings import build_settings, settings_of
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import preset


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if "labels" in method.spaces])
def test_defaults_of_label_vectors_are_those_shown(method: str) -> None:
    assert build_settings(method, settings_of(method)) == METHODS[method].settings()


def test_a_choice_has_defaults_of_its_own_and_keeps_what_was_set() -> None:
    shown = settings_of("dr")
    chosen = preset("tuned", "", "dr", "one-of")
    assert build_settings("dr", shown, "one-of") == chosen
    assert build_settings("dr", shown, "labels") != chosen
    other = build_settings("dr", shown | {"hidden": [64]}, "one-of")
    assert vars(other) == vars(chosen) | {"hidden": (64,)}
