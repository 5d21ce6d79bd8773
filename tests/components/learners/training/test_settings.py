"""Settings of every method: their ranges, what is said of a bad one, and how they are written down."""

import json
import math
import re
from dataclasses import FrozenInstanceError, fields, replace
from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.methods import METHODS, reads
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.settings import (
    LossShift,
    Settings,
    Weights,
    changed,
    keyed_settings,
    plain_settings,
    read_of,
    settings_about,
)
from tests.components.every_setting import EverySetting


def default(method: str) -> Settings:
    return METHODS[method].settings()


def with_value(method: str, name: str, value: object) -> Settings:
    settings: dict[str, Any] = {name: value}
    return METHODS[method].settings(**settings)


def readers(name: str) -> list[str]:
    return [method for method in METHODS if reads(method, name)]


NUMBERS = [
    (method, field.name)
    for method in METHODS
    for field in fields(METHODS[method].settings)
    if type(getattr(default(method), field.name)) in (int, float)
]
LISTS = [
    (method, field.name)
    for method in METHODS
    for field in fields(METHODS[method].settings)
    if isinstance(getattr(default(method), field.name), tuple)
]


def test_what_a_method_of_no_preset_has() -> None:
    settings = METHODS["weighted-reg"].settings()
    numbers = plain_settings(settings)
    assert (numbers["hidden"], numbers["discriminator_hidden"]) == ([128], [59])
    assert (numbers["batch_size"], numbers["standardise"], numbers["batch_norm"]) == (500, True, False)
    rates = (numbers["risk_rate"], numbers["regulariser_rate"], numbers["discriminator_rate"])
    assert rates == (3e-3, 1e-3, 1e-3)


def test_raw_weights_are_not_cut() -> None:
    assert EverySetting(weights=Weights.RAW, clip=5.0).weight_clip == math.inf
    assert EverySetting(weights=Weights.CLIP, clip=5.0).weight_clip == 5.0


@pytest.mark.parametrize("method", METHODS)
def test_settings_survive_json(method: str) -> None:
    """Enumerations are texts and tuples are lists there; both come back."""
    several = {"hidden": (7, 7), "loss_shift": LossShift.POEM, "kappa": 3, "wcrm_clips": (1.5,)}
    settings = changed(default(method), several)
    kept = json.loads(json.dumps(plain_settings(settings)))
    assert list(kept) == sorted(field.name for field in fields(settings))
    kinds = {field.name: type(getattr(settings, field.name)) for field in fields(settings)}
    back = {n: kinds[n](v) if issubclass(kinds[n], StrEnum | tuple) else v for n, v in kept.items()}
    assert METHODS[method].settings(**back) == settings


@pytest.mark.parametrize("method", METHODS)
def test_only_how_to_work_is_left_out_of_the_key(method: str) -> None:
    settings = default(method)
    left_out = plain_settings(settings).keys() - keyed_settings(settings).keys()
    about = settings_about(METHODS[method].settings)
    later = {name for name in ("start", "fit_all", "most_epochs") if name in about and about[name].later}
    assert left_out == {"checkpoint_every"} | ({"loss"} if method == "full-information" else set()) | later
    other = changed(settings, {"start": Start.RATES, "fit_all": True, "most_epochs": 7})
    assert later <= keyed_settings(other).keys()


def test_changes_leave_out_what_a_method_does_not_have() -> None:
    naive = changed(default("naive"), {"tau": 2.0, "clip": 5.0})
    assert naive == replace(default("naive"), clip=5.0)  # type: ignore[call-arg]
    assert read_of(type(naive), {"tau": 2.0, "clip": 5.0}) == {"clip": 5.0}


def test_changes_are_checked() -> None:
    with pytest.raises(BadInput, match="clip must be above 0, got 0"):
        changed(default("naive"), {"clip": 0})


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        default("naive").standardise = False  # type: ignore[misc]


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_says_what_it_is(method: str) -> None:
    about = settings_about(METHODS[method].settings)
    assert list(about) == [field.name for field in fields(METHODS[method].settings)]
    assert all(known.meaning for known in about.values())
    assert len({known.meaning for known in about.values()}) >= len(about) - 1, "BatchNorm, of two networks"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("clip", 0.0, "clip must be above 0, got 0.0; it is: cut of the weights"),
        ("tau", -1.0, "tau must be above 0, got -1.0; it is: temperature of the relaxed samples"),
        ("kappa", 0.0, "kappa must be above 0, got 0.0"),
        ("risk_rate", 0.0, "risk_rate must be above 0 and at most 10, got 0.0"),
        ("warm_start_rate", 0.0, "warm_start_rate must be above 0 and at most 10, got 0.0"),
        ("regulariser_rate", 0.0, "regulariser_rate must be above 0 and at most 10, got 0.0"),
        ("discriminator_rate", 0.0, "discriminator_rate must be above 0 and at most 10, got 0.0"),
        ("sharpness", 0.0, "sharpness must be above 0 and at most 1e+06, got 0.0"),
        ("policy_rate", 0.0, "policy_rate must be above 0 and at most 10, got 0.0"),
        ("multiplier_rate", 0.0, "multiplier_rate must be above 0, got 0.0"),
        ("working_noise", 0.0, "working_noise must be above 0 and at most 1e+06, got 0.0"),
        ("batch_size", 0, "batch_size must be at least 1, got 0"),
        ("epochs", -1, "epochs must be at least "),
        ("passes_per_epoch", 0, "passes_per_epoch must be at least 1, got 0"),
        ("patience", 0, "patience must be at least 1, got 0"),
        ("inner_iterations", 0, "inner_iterations must be at least 1, got 0"),
        ("minimum_steps", 0, "minimum_steps must be at least 1, got 0"),
        ("wcrm_rounds", 0, "wcrm_rounds must be at least 1, got 0"),
        ("wcrm_iterations", 0, "wcrm_iterations must be at least 1, got 0"),
        ("context_batch", -1, "context_batch must be at least 0, got -1"),
        ("model_epochs", -1, "model_epochs must be at least 0, got -1"),
        ("memory_rows", 0, "memory_rows must be at least 1, got 0"),
        ("folds", 1, "folds must be at least 2, got 1; it is: networks, each blind to one fold"),
        ("weight_decay", -0.1, "weight_decay must be at least 0 and at most 100, got -0.1"),
        ("warm_start", -2, "warm_start must be at least -1, got -2"),
        ("warm_up_steps", -1, "warm_up_steps must be at least 0, got -1"),
        ("warm_up_epochs", -1, "warm_up_epochs must be at least 0, got -1"),
        ("checkpoint_every", -1, "checkpoint_every must be at least 0, got -1"),
        ("pessimism", -0.5, "pessimism must be at least 0, got -0.5"),
        ("least_effective_rows", -1.0, "least_effective_rows must be at least 0, got -1.0"),
        ("constraint_tolerance", -0.1, "constraint_tolerance must be at least 0, got -0.1"),
        ("constraint_floor", 1.0, "constraint_floor must be at least 0 and below 1, got 1.0"),
        ("constraint_floor", -0.1, "constraint_floor must be at least 0 and below 1, got -0.1"),
        ("lambda_floor", 1.0, "lambda_floor must be at least 0 and below 1, got 1.0"),
        ("lambda_floor", -0.1, "lambda_floor must be at least 0 and below 1, got -0.1"),
        ("moving_average", 1.0, "moving_average must be at least 0 and below 1, got 1.0"),
        ("moving_average", -0.1, "moving_average must be at least 0 and below 1, got -0.1"),
        ("input_dropout", 1.0, "input_dropout must be at least 0 and below 1, got 1.0"),
        ("input_dropout", -0.1, "input_dropout must be at least 0 and below 1, got -0.1"),
        ("shift_share", 1.5, "shift_share must be at least 0 and at most 1, got 1.5"),
        ("shift_share", -0.5, "shift_share must be at least 0 and at most 1, got -0.5"),
        ("least_mean_weight", 0.0, "least_mean_weight must be above 0 and below 1, got 0.0"),
        ("least_mean_weight", 1.5, "least_mean_weight must be above 0 and below 1, got 1.5"),
        ("most_mean_weight", 1.0, "most_mean_weight must be above 1, got 1.0"),
        ("hidden", (8, 0), "hidden must be at least 1 and at most 100000, got 0 in (8, 0); it is: nodes of"),
        ("discriminator_hidden", (0,), "discriminator_hidden must be at least 1, got 0 in (0,)"),
        ("wcrm_clips", (3.0, -1.0), "wcrm_clips must be at least 0, got -1.0 in (3.0, -1.0)"),
        ("wcrm_variances", (-1.0,), "wcrm_variances must be at least 0, got -1.0 in (-1.0,)"),
        ("wcrm_l2s", (-0.1,), "wcrm_l2s must be at least 0, got -0.1 in (-0.1,)"),
        ("wcrm_clips", (), "wcrm_clips needs one or more numbers, got none; leave it out for the default"),
        ("wcrm_variances", (), "wcrm_variances needs one or more numbers, got none; leave it out"),
        ("wcrm_l2s", (), "wcrm_l2s needs one or more numbers, got none; leave it out for the default"),
        ("loss", "ranking", "unknown loss 'ranking'; choose one of hamming, crowding"),
    ],
)
def test_bad_values_are_refused_by_every_method_that_reads_them(
    name: str, value: object, message: str
) -> None:
    assert readers(name)
    for method in readers(name):
        with pytest.raises(BadInput, match=f"^{re.escape(message)}"):
            with_value(method, name, value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("method", "name"), NUMBERS)
def test_every_number_is_finite(method: str, name: str, bad: float) -> None:
    about = settings_about(METHODS[method].settings)[name]
    wanted = "a whole number" if isinstance(getattr(default(method), name), int) else about.range()
    message = f"{name} must be {wanted}, got {bad}; it is: {about.meaning}"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        with_value(method, name, bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("method", "name"), LISTS)
def test_every_number_of_a_list_is_finite(method: str, name: str, bad: float) -> None:
    values: tuple[Any, ...] = (*getattr(default(method), name), bad)
    whole = name.endswith("hidden")
    wanted = "a tuple, each part a whole number" if whole else "at least .*"
    with pytest.raises(BadInput, match=f"^{name} must be {wanted}, got .*{bad}.*; it is: "):
        with_value(method, name, values)


@pytest.mark.parametrize(("method", "name"), NUMBERS)
def test_every_number_has_an_end_that_is_said(method: str, name: str) -> None:
    """A range that refuses nothing below would be one that was forgotten: no setting may be negative."""
    with pytest.raises(BadInput, match=f"^{name} must be .*, got -1"):
        with_value(method, name, -(10**30))


def test_no_number_is_larger_than_arrays_can_be() -> None:
    """Before, it failed after the start, as an OverflowError."""
    for (method, name), huge in product(NUMBERS + LISTS, (2**31, 2**63, 10**400)):
        usual = getattr(default(method), name)
        first, value = (usual[0], (*usual, huge)) if isinstance(usual, tuple) else (usual, huge)
        if isinstance(first, int) or huge == 10**400:
            with pytest.raises(BadInput, match=f"^{name} must be .*, got ") as refused:
                with_value(method, name, value)
            assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (About("x", above=0), "above 0"),
        (About("x", least=0, below=1), "at least 0 and below 1"),
        (About("x", above=0.5, most=2), "above 0.5 and at most 2"),
        (About("x"), "a finite number"),
    ],
)
def test_range_in_words(about: About, text: str) -> None:
    assert about.range() == text


def test_ends_of_ranges_count_as_they_are_said() -> None:
    closed, opened = About("x", least=0, most=1), About("x", above=0, below=1)
    for end in (0, 1.0):
        closed.check("x", end, float)
        with pytest.raises(BadInput, match="x must be above 0 and below 1"):
            opened.check("x", end, float)
    opened.check("x", 0.5, float)


@pytest.mark.parametrize("method", METHODS)
def test_unread_settings_are_refused(method: str) -> None:
    others = {field.name for field in fields(EverySetting) if not reads(method, field.name)}
    assert others
    for name in others:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            with_value(method, name, getattr(EverySetting(), name))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": "3"}, "epochs must be a whole number, got '3'"),
        ({"epochs": True}, "epochs must be a whole number, got True"),
        ({"epochs": 2.5}, "epochs must be a whole number, got 2.5"),
        ({"clip": "10"}, "clip must be a number, got '10'"),
        ({"weights": "raw"}, "weights must be one of Weights.RAW, Weights.CLIP, Weights.SELF_NORMALISED"),
        ({"hidden": [64]}, "hidden must be a tuple, each part a whole number, got [64]"),
        ({"hidden": ("64",)}, "hidden must be a tuple, each part a whole number, got ('64',)"),
        ({"standardise": 1}, "standardise must be True or False, got 1"),
    ],
)
def test_values_of_another_kind_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}"):
        METHODS["naive"].settings(**values)
