import csv
from dataclasses import replace
from pathlib import Path

import pytest

from multilogger.components.datasets import DATASETS
from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS, learn
from multilogger.components.learners.presets import NEVER_BINDS, PRESETS, preset
from multilogger.components.learners.training_log import TrainingLog

SEARCH = Path(__file__).parents[3] / "benchmarks" / "results" / "search_presets.csv"


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
    """Sections 5.1.2 and 5.4."""
    naive, weighted = preset("paper", "yeast", "naive-reg"), preset("paper", "yeast", "weighted-reg")
    assert (naive.hidden, naive.discriminator_hidden) == ((10,), (59,))
    assert (weighted.hidden, weighted.discriminator_hidden) == ((7, 7), (30,))
    for settings in (naive, weighted):
        rates = (settings.risk_rate, settings.regulariser_rate, settings.discriminator_rate)
        assert rates == (1e-4, 1e-4, 2.5e-4)
        assert settings.batch_size == 500
    assert preset("paper", "tmc", "naive").batch_size == 4096


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("estimator", ["naive", "weighted", "balanced"])
def test_constrained_twin_differs_in_the_constraint_alone(name: str, estimator: str) -> None:
    for dataset in DATASETS:
        direct, constrained = preset(name, dataset, estimator), preset(name, dataset, f"{estimator}-reg")
        shared = ("hidden", "risk_rate", "loss_shift", "weights", "clip", "batch_size", "weight_decay")
        assert all(getattr(direct, field) == getattr(constrained, field) for field in shared)


def test_constraint_is_what_the_recorded_search_chose() -> None:
    with SEARCH.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"].endswith("-reg")]
    chosen = {(row["dataset"], row["method"]): row["changed"] for row in rows if row["chosen"] == "true"}
    assert ("scene", "weighted-reg") in chosen
    for (dataset, method), changed in chosen.items():
        settings = preset("tuned", dataset, method)
        for name, value in (change.split("=") for change in changed.split()):
            assert getattr(settings, name) == float(value), (dataset, method, name)


def test_constraint_is_open_where_nothing_was_searched() -> None:
    assert preset("tuned", "my-own-files", "weighted-reg").kappa == NEVER_BINDS


def test_unknown_preset() -> None:
    with pytest.raises(
        BadInput, match="unknown preset 'mine'; choose one of paper, printed-objective, tuned"
    ):
        preset("mine", "yeast", "naive")
