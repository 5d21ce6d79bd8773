"""The paper's experiments (section 5) as cells: what to run for each table and figure."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction.scope import Scope
from multilogger.flows.reproduction.studies import (
    STUDY_METHODS,
    choices_of,
    constraint_cells,
)
from multilogger.tasks.learn_settings import fitting_methods

TABLE2_DATASETS = ("scene", "yeast", "tmc")
ONE_OF_DATASETS = ("digits-one-of", "satimage", "optdigits")
FIGURE_DATASETS = ("yeast",)
REFERENCE_METHODS = ("logger-1", "logger-2", "crf", "best-logger-greedy")
REPLAY_COUNTS = (1, 2, 4, 8, 16)
H2_REPLAYS = 4
TEMPERATURES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)

# The paper's Table 2 and its figures have different loggers on Yeast: those of C = 0.03 and of C = 0.1.
TABLE2_LOGGERS: dict[str, dict[str, Any]] = {"yeast": {"train-loggers.C": 0.03}}

# The same eight passes through train in all, by ever more loggers between the paper's two.
LOGGER_COUNTS = (2, 4, 8)
ALL_PASSES = 8
LOGGER_STUDY_METHODS = ("naive", "weighted", "balanced", "additive", "dr")

PAIRWISE_METHODS = ("logger-1", "logger-2", "weighted-exact", "additive", "dr", "full-information")


def table2(scope: Scope, preset: str) -> list[Cell]:
    """Table 2: datasets x methods x seeds, with the references that an honest reader asks for."""
    return _method_cells(scope, preset, TABLE2_DATASETS, "labels")


def one_of(scope: Scope, preset: str) -> list[Cell]:
    """Beyond the paper: the same of datasets whose action is one of K."""
    return _method_cells(scope, preset, ONE_OF_DATASETS, "one-of")


def _method_cells(scope: Scope, preset: str, datasets: Sequence[str], actions: str) -> list[Cell]:
    """Datasets x methods x seeds, of the methods that can take actions of a kind if none are named."""
    return [
        cell
        for dataset in scope.datasets or datasets
        for method in scope.methods or (*REFERENCE_METHODS, *fitting_methods(actions))
        for cell in scope.cells(preset, dataset, method, TABLE2_LOGGERS.get(dataset))
    ]


def figure1(scope: Scope, preset: str) -> list[Cell]:
    """Figure 1: h_1's log replayed 1 to 16 times beside 4 passes of h_2, and three flat lines."""
    cells: list[Cell] = []
    for dataset in scope.datasets or FIGURE_DATASETS:
        for method in scope.methods or ("naive-reg", "weighted-reg"):
            for count in REPLAY_COUNTS:
                settings = {"replay.passes": [count, H2_REPLAYS]}
                cells += scope.cells(preset, dataset, method, settings, replay_count=count)
        for method in ("logger-1", "logger-2", "crf"):
            cells += scope.cells(preset, dataset, method)
    return cells


def figure2(scope: Scope, preset: str) -> list[Cell]:
    """Figure 2: naive-reg over the temperature of its relaxed samples, and two flat lines."""
    return _temperature_sweep(scope, preset, "naive")


def figure3(scope: Scope, preset: str) -> list[Cell]:
    """Figure 3: the same for weighted-reg."""
    return _temperature_sweep(scope, preset, "weighted")


def choices(scope: Scope, preset: str) -> list[Cell]:
    """Where the paper is silent: one choice changed at a time, with the loggers of Table 2."""
    changed = choices_of(preset)
    _check_no_methods(scope, "choices", ", ".join(changed))
    cells: list[Cell] = []
    for dataset in scope.datasets or FIGURE_DATASETS:
        for method, changes in changed.items():
            usual = TABLE2_LOGGERS.get(dataset, {})
            for choice, change in changes.items():
                cells += scope.cells(preset, dataset, method, {**usual, **change}, choice=choice)
    return cells


def loggers(scope: Scope, preset: str) -> list[Cell]:
    """Beyond the paper: J = 2, 4, 8 loggers, alphas evenly spaced in their logarithm, as many rows in all."""
    cells: list[Cell] = []
    for dataset in scope.datasets or FIGURE_DATASETS:
        for method in scope.methods or LOGGER_STUDY_METHODS:
            for count in LOGGER_COUNTS:
                alphas = [round(float(alpha), 4) for alpha in np.geomspace(0.05, 2.0, count)]
                settings = {
                    **TABLE2_LOGGERS.get(dataset, {}),
                    "train-loggers.alphas": alphas,
                    "replay.passes": ALL_PASSES // count,
                }
                cells += scope.cells(preset, dataset, method, settings, loggers=count)
    return cells


def pairwise(scope: Scope, preset: str) -> list[Cell]:
    """Beyond the paper: a loss that does not add up over labels, where `additive` errs and `dr` does not."""
    if scope.datasets not in (None, ("pairwise",)):
        raise BadInput("pairwise is a dataset of its own, simulated; leave --dataset out")
    return [
        cell
        for method in scope.methods or PAIRWISE_METHODS
        for cell in scope.cells(preset, "pairwise", method)
    ]


def constraint(scope: Scope) -> list[Cell]:
    """Beyond the paper: when does the constraint help? It has the presets of its objectives."""
    _check_no_methods(scope, "constraint", ", ".join(STUDY_METHODS))
    return constraint_cells(scope, scope.datasets or FIGURE_DATASETS, TABLE2_LOGGERS)


def _check_no_methods(scope: Scope, target: str, methods: str) -> None:
    if scope.methods:
        raise BadInput(f"{target} has methods of its own ({methods}); leave --method out")


def _temperature_sweep(scope: Scope, preset: str, method: str) -> list[Cell]:
    _check_no_methods(scope, "a temperature sweep", f"{method}, {method}-reg, wcrm")
    cells: list[Cell] = []
    for dataset in scope.datasets or FIGURE_DATASETS:
        for tau in TEMPERATURES:
            cells += scope.cells(preset, dataset, f"{method}-reg", {"learn.tau": tau}, tau=tau)
        for line in (method, "wcrm"):
            cells += scope.cells(preset, dataset, line)
    return cells


EXPERIMENTS: dict[str, Callable[[Scope, str], list[Cell]]] = {
    "table2": table2,
    "one-of": one_of,
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "choices": choices,
    "loggers": loggers,
    "pairwise": pairwise,
}
"""The cells of a table or figure under one preset."""

STUDIES: dict[str, Callable[[Scope], list[Cell]]] = {"constraint": constraint}
"""The cells of what compares presets itself."""
