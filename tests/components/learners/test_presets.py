"""Presets: valid for every method, printed where they say so, with a constraint where one is asked for."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import NEVER_BINDS, PRESETS, preset
from multilogger.components.learners.readers import reads
from multilogger.components.learners.training.settings import READERS, LossShift, Weights
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import learn

SEARCH = Path(__file__).parents[3] / "benchmarks" / "results" / "search_presets.csv"
ESTIMATORS = ("naive", "weighted", "balanced")


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dataset", [*DATASETS, "my-own-files"])
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_is_valid_and_trains(name: str, dataset: str, method: str, log: TrainingLog) -> None:
    settings = replace(
        preset(name, dataset, method), epochs=1, warm_up_steps=2, inner_iterations=1, wcrm_iterations=1,
        wcrm_clips=(10.0,), wcrm_variances=(0.1,), wcrm_l2s=(0.1,), model_epochs=1, folds=2,
    )  # fmt: skip
    learned = learn(method, log, settings, 0)
    starts_with_another = method == "dr" or (settings.warm_start > 0 and method != "wcrm")
    assert len(learned.records) == (2 if starts_with_another else 1)


def test_paper_preset_is_what_the_paper_prints() -> None:
    """Sections 2, 5.1.2 and 5.4, and the appendix."""
    naive, weighted = preset("paper", "yeast", "naive-reg"), preset("paper", "yeast", "weighted-reg")
    assert (naive.hidden, naive.discriminator_hidden) == ((10,), (59,))
    assert (weighted.hidden, weighted.discriminator_hidden) == ((7, 7), (30,))
    for settings in (naive, weighted):
        rates = (settings.risk_rate, settings.regulariser_rate, settings.discriminator_rate)
        assert rates == (1e-4, 1e-4, 2.5e-4)
        assert settings.batch_size == 500
        assert (settings.loss_shift, settings.weights) == (LossShift.NONE, Weights.RAW)
        assert settings.batch_norm
        assert settings.discriminator_batch_norm
    assert preset("paper", "tmc", "naive").batch_size == 4096


@pytest.mark.parametrize("method", [f"{e}{kind}" for e in ESTIMATORS for kind in ("", "-reg", "-exact")])
def test_printed_objective_is_printed_and_the_rest_ours(method: str) -> None:
    for dataset in (*DATASETS, "my-own-files"):
        settings, ours = preset("printed-objective", dataset, method), preset("tuned", dataset, method)
        assert (settings.loss_shift, settings.weights) == (LossShift.NONE, Weights.RAW)
        assert (settings.hidden, settings.standardise) == (ours.hidden, ours.standardise)
        assert settings.warm_start == 0


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constrained_twin_differs_in_the_constraint_alone(name: str, estimator: str) -> None:
    for dataset in (*DATASETS, "my-own-files"):
        direct, constrained = preset(name, dataset, estimator), preset(name, dataset, f"{estimator}-reg")
        read = [setting for setting in READERS if reads(estimator, setting)]
        assert all(getattr(direct, setting) == getattr(constrained, setting) for setting in read)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_constraint_that_is_asked_for_is_there(name: str, estimator: str) -> None:
    for dataset in (*DATASETS, "my-own-files"):
        assert preset(name, dataset, f"{estimator}-reg").kappa < 100 < NEVER_BINDS


def test_constraint_is_what_the_recorded_search_chose() -> None:
    with SEARCH.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["chosen"] == "true"]
    chosen = [row for row in rows if row["method"].endswith("-reg")]
    assert {row["preset"] for row in chosen} == {"printed-objective", "tuned"}
    for row in chosen:
        settings = preset(row["preset"], row["dataset"], row["method"])
        for name, value in (change.split("=") for change in row["changed"].split()):
            assert getattr(settings, name) == float(value), (row, name)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("method", ["additive", "additive-soft", "dr", "full-information"])
def test_what_is_not_of_the_paper_is_the_same_in_all_presets(name: str, method: str) -> None:
    assert preset(name, "yeast", method) == preset("tuned", "yeast", method)


def test_unknown_preset() -> None:
    with pytest.raises(
        BadInput, match="unknown preset 'mine'; choose one of paper, printed-objective, tuned"
    ):
        preset("mine", "yeast", "naive")
