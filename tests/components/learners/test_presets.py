"""Presets: tables that are read, valid for every method, printed where they say so, with a constraint."""

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput
from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS, reads
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.presets.table import (
    CONSTRAINED,
    DIRECT,
    EXACT,
    LOSS_MODELS,
    PAPER_METHODS,
    SMOOTHED,
    WCRM,
    Row,
    look_up,
)
from multilogger.components.learners.presets.tuned import NEVER_BINDS
from multilogger.components.learners.training.settings import (
    LossShift,
    Settings,
    Weights,
    changed,
    plain_settings,
    settings_about,
)
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import LABEL_METHODS

SEARCH = Path(__file__).parents[3] / "benchmarks" / "results" / "search_presets.csv"
ESTIMATORS = ("naive", "weighted", "balanced")
NAMED = {dataset for rows in PRESETS.values() for row in rows for dataset in row.datasets}
NAMES = (*(name for name in DATASETS if name in NAMED), "my-own-files")  # the others have the same
ROWS = [(name, number) for name, rows in PRESETS.items() for number in range(len(rows))]
SHORT = {
    "epochs": 1,
    "warm_up_steps": 2,
    "inner_iterations": 1,
    "wcrm_iterations": 1,
    "wcrm_clips": (10.0,),
    "wcrm_variances": (0.1,),
    "wcrm_l2s": (0.1,),
    "model_epochs": 1,
    "folds": 2,
}


def numbers(name: str, dataset: str, method: str) -> dict[str, Any]:
    return plain_settings(preset(name, dataset, method))


@pytest.fixture(scope="module")
def epochs_made(log: TrainingLog) -> Callable[[str, Settings], int]:
    """How many epochs are recorded; many presets give the same settings, which learn once."""
    return cache(lambda method, settings: len(learn(method, log, settings, 0).records))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("method", LABEL_METHODS)
def test_every_preset_is_valid_and_trains(
    name: str, dataset: str, method: str, epochs_made: Callable[[str, Settings], int]
) -> None:
    settings = changed(preset(name, dataset, method), SHORT)
    assert type(settings) is METHODS[method].settings
    warm = plain_settings(settings).get("warm_start", 0) > 0
    two = method in ("dr", "auto") or (warm and method != "wcrm")
    assert epochs_made(method, settings) == (2 if two else 1)


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_a_row_names_what_there_is(name: str, number: int) -> None:
    row = PRESETS[name][number]
    assert row.methods
    assert row.values
    assert set(row.methods) <= METHODS.keys()
    assert set(row.datasets) <= DATASETS.keys()


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_every_value_of_a_row_is_read_by_one_of_its_methods(name: str, number: int) -> None:
    row = PRESETS[name][number]
    for setting in row.values:
        assert any(reads(method, setting) for method in row.methods), setting


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_every_row_makes_a_difference(name: str, number: int) -> None:
    """What a row says is neither what the defaults say nor what later rows say otherwise."""
    rows = PRESETS[name]
    without = (*rows[:number], *rows[number + 1 :])
    places = [(d, m) for d in (rows[number].datasets or NAMES) for m in rows[number].methods]
    space = (rows[number].spaces or ("labels",))[0]
    assert any(look_up(rows, d, m, space) != look_up(without, d, m, space) for d, m in places)


def test_groups_hold_every_method_once() -> None:
    others = ("auto", "full-information")
    groups = (WCRM, DIRECT, CONSTRAINED, EXACT, SMOOTHED, LOSS_MODELS, others)
    assert sorted(name for group in groups for name in group) == sorted(METHODS)
    assert set(PAPER_METHODS) == {*WCRM, *DIRECT, *CONSTRAINED, *EXACT}
    assert {f"{e}-reg" for e in ESTIMATORS} == set(CONSTRAINED)


def test_later_rows_win_where_they_apply() -> None:
    rows = (
        Row(("naive", "weighted-reg"), {"clip": 5.0, "tau": 2.0}),
        Row(("naive",), {"clip": 7.0}, ("yeast",)),
    )
    found = {(d, m): look_up(rows, d, m) for d in ("yeast", "scene") for m in ("naive", "weighted-reg")}
    clips = {place: plain_settings(settings)["clip"] for place, settings in found.items()}
    assert clips == {
        ("yeast", "naive"): 7.0,
        ("yeast", "weighted-reg"): 5.0,
        ("scene", "naive"): 5.0,
        ("scene", "weighted-reg"): 5.0,
    }
    assert plain_settings(found["yeast", "weighted-reg"])["tau"] == 2.0
    assert look_up(rows, "yeast", "weighted") == METHODS["weighted"].settings()


def test_a_bad_value_of_a_row_is_refused() -> None:
    with pytest.raises(BadInput, match="clip must be above 0, got -1"):
        look_up((Row(("naive",), {"clip": -1.0}),), "yeast", "naive")


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_a_dataset_that_nobody_tuned_for_has_the_defaults(method: str) -> None:
    assert preset("tuned", "my-own-files", method) == METHODS[method].settings()


def test_paper_preset_is_what_the_paper_prints() -> None:
    """Sections 2, 5.1.2 and 5.4, and the appendix."""
    naive, weighted = numbers("paper", "yeast", "naive-reg"), numbers("paper", "yeast", "weighted-reg")
    assert (naive["hidden"], naive["discriminator_hidden"]) == ([10], [59])
    assert (weighted["hidden"], weighted["discriminator_hidden"]) == ([7, 7], [30])
    for settings in (naive, weighted):
        rates = [settings[f"{part}_rate"] for part in ("risk", "regulariser", "discriminator")]
        assert rates == [1e-4, 1e-4, 2.5e-4]
        assert settings["batch_size"] == 500
        assert (settings["loss_shift"], settings["weights"]) == (LossShift.NONE, Weights.RAW)
        assert settings["batch_norm"]
        assert settings["discriminator_batch_norm"]
    assert numbers("paper", "tmc", "naive")["batch_size"] == 4096


@pytest.mark.parametrize("method", [f"{e}{kind}" for e in ESTIMATORS for kind in ("", "-reg", "-exact")])
def test_printed_objective_is_printed_and_the_rest_ours(method: str) -> None:
    for dataset in NAMES:
        settings, ours = numbers("printed-objective", dataset, method), numbers("tuned", dataset, method)
        assert (settings["loss_shift"], settings["weights"]) == (LossShift.NONE, Weights.RAW)
        assert (settings["hidden"], settings["standardise"]) == (ours["hidden"], ours["standardise"])
        assert settings["warm_start"] == 0


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constrained_twin_differs_in_the_constraint_alone(name: str, estimator: str) -> None:
    for dataset in NAMES:
        direct, constrained = numbers(name, dataset, estimator), numbers(name, dataset, f"{estimator}-reg")
        assert set(direct) == set(settings_about(METHODS[estimator].settings))
        assert {setting: constrained[setting] for setting in direct} == direct


@pytest.mark.parametrize("kind", ["-reg", "-exact"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_twin_is_the_direct_method(estimator: str, kind: str) -> None:
    assert METHODS[f"{estimator}{kind}"].twin == estimator


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_constraint_that_is_asked_for_is_there(name: str, estimator: str) -> None:
    for dataset in NAMES:
        assert numbers(name, dataset, f"{estimator}-reg")["kappa"] < 100 < NEVER_BINDS


def test_constraint_is_what_the_recorded_search_chose() -> None:
    with SEARCH.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["chosen"] == "true"]
    chosen = [row for row in rows if row["method"].endswith("-reg")]
    assert {row["preset"] for row in chosen} == {"printed-objective", "tuned"}
    for row in chosen:
        settings = numbers(row["preset"], row["dataset"], row["method"])
        for name, value in (change.split("=") for change in row["changed"].split()):
            assert settings[name] == float(value), (row, name)


def test_auto_goes_by_no_name_of_a_dataset() -> None:
    for method in METHODS:
        for space in METHODS[method].spaces:
            found = [look_up(PRESETS["auto"], dataset, method, space) for dataset in NAMES]
            assert all(one == found[0] for one in found), method


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "auto"])
@pytest.mark.parametrize("method", ["additive", "additive-soft", "dr", "full-information"])
def test_what_is_not_of_the_paper_is_the_same_in_all_presets(name: str, method: str) -> None:
    for dataset in NAMES:
        assert preset(name, dataset, method) == preset("tuned", dataset, method)


def test_unknown_preset() -> None:
    with pytest.raises(
        BadInput, match="unknown preset 'mine'; choose one of paper, printed-objective, tuned, auto"
    ):
        preset("mine", "yeast", "naive")


def test_unknown_method() -> None:
    with pytest.raises(BadInput, match="unknown method 'crf'; choose one of wcrm, naive, "):
        preset("tuned", "yeast", "crf")
