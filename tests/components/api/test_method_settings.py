"""Settings of scripts become those of learners."""

import copy
from typing import Any

import pytest
from sklearn.base import clone

import multilogger as ml
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


def _differing(method: str) -> tuple[str, Any]:
    """A setting whose default is another for a choice, and the default shown."""
    shown, chosen = settings_of(method), vars(preset("tuned", "", method, "one-of"))
    typed = vars(METHODS[method].settings())
    return next((name, shown[name]) for name in shown if chosen[name] != typed[name])


def test_an_explicit_value_counts_where_it_equals_the_default_shown() -> None:
    name, shown = _differing("balanced")
    given = ml.Balanced(**{name: shown})
    chosen = vars(preset("tuned", "", "balanced", "one-of"))
    typed = vars(METHODS["balanced"].settings())[name]
    assert _built(ml.Balanced()) == chosen
    twins = [given, clone(given), ml.Balanced().set_params(**{name: shown}), copy.deepcopy(given)]
    twins.append(ml.learner("balanced", **{name: shown}))
    for learner in twins:
        assert _built(learner) == chosen | {name: typed}
        assert learner.get_params() == ml.Balanced().get_params()


def test_what_a_preset_leaves_open_is_of_the_same_preset() -> None:
    printed = ml.learner("balanced", preset="paper")
    assert _built(printed) == vars(preset("paper", "", "balanced", "one-of"))
    assert _built(printed, "labels") == vars(preset("paper", "", "balanced"))
    own = ml.learner("balanced", preset="tuned", dataset="satimage", clip=5.0)
    assert _built(own) == vars(preset("tuned", "satimage", "balanced")) | {"clip": 5.0}


def _built(learner: ml.Learner, space: str = "one-of") -> dict[str, Any]:
    """The settings that `fit` hands to the method."""
    return vars(learner.settings_for(space))
