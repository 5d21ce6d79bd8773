"""The paper's experiments (section 5) as cells: what to run for each table and figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction.scope import DEFAULT_PRESETS, Scope, check_presets, presets_that_matter
from multilogger.flows.reproduction.studies import (
    CHOICES,
    STUDY_METHODS,
    STUDY_VARIES,
    VARIED_BY_CHOICES,
    choices_of,
    study_cells,
)

TABLE2_DATASETS = ("scene", "yeast", "tmc")
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

IDENTITY = {"learn.method": "--method", "learn.preset": "--preset"}
SEEDS = ("train-loggers.seed", "replay.seed", "learn.seed")
VARIED: dict[str, tuple[str, ...]] = {
    "figure1": ("replay.passes",),
    "figure2": ("learn.tau",),
    "figure3": ("learn.tau",),
    "choices": VARIED_BY_CHOICES,
    "loggers": ("train-loggers.alphas", "replay.passes"),
    "constraint": STUDY_VARIES,
}
"""Settings that an experiment itself changes from cell to cell."""


def _check_settings(experiments: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Refuse what would make a cell something else than the tables call it."""
    for name in settings:
        if name in IDENTITY:
            raise BadInput(f"{name} is named by {IDENTITY[name]}, not by --set")
        if name in SEEDS:
            raise BadInput(f"{name} is the seed of the cell, from 0 to --seeds less one; leave it out")
        for experiment in experiments:
            if name in VARIED.get(experiment, ()):
                raise BadInput(f"{experiment} varies {name} itself; leave it out")


def table2(scope: Scope, preset: str) -> list[Cell]:
    """Table 2: datasets x methods x seeds, with the references that an honest reader asks for."""
    methods = scope.methods or (*REFERENCE_METHODS, *METHODS)
    return [
        cell
        for dataset in scope.datasets or TABLE2_DATASETS
        for method in methods
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
    return study_cells(scope, scope.datasets or FIGURE_DATASETS, TABLE2_LOGGERS)


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

TARGETS = (*EXPERIMENTS, *STUDIES, "all")


def check_plan(parameters: Mapping[str, Any]) -> None:
    """Refuse what the flow would refuse, before anything starts."""
    plan_of(parameters["target"], Scope.asked(parameters))


def plan_of(target: str, scope: Scope) -> dict[str, list[Cell]]:
    """The cells of every experiment of a target; a typing error is said here, before anything runs."""
    if target not in TARGETS:
        raise BadInput(f"unknown target {target!r}; choose one of {', '.join(TARGETS)}")
    names = (*EXPERIMENTS, *STUDIES) if target == "all" else (target,)
    check_presets(scope.presets)
    _check_settings(names, scope.settings)
    plan = {name: _planned(name, _narrowed(name, scope) if target == "all" else scope) for name in names}
    cells = [cell for planned in plan.values() for cell in planned]
    for cell in cells:
        cell.steps()
    for name in scope.settings:
        if not any(name in cell.settings for cell in cells):
            raise BadInput(f"none of these methods reads {name}; leave it out, or name other methods")
    return plan


def _planned(name: str, scope: Scope) -> list[Cell]:
    """An experiment under every preset; what does not depend on the preset is in it once, under the last."""
    if name in STUDIES:
        return STUDIES[name](scope)
    cells = [cell for preset in scope.presets for cell in EXPERIMENTS[name](scope, preset)]
    used = {key: presets_that_matter(scope.presets, *key) for key in {(c.dataset, c.method) for c in cells}}
    return [cell for cell in cells if cell.preset in used[cell.dataset, cell.method]]


def _narrowed(name: str, scope: Scope) -> Scope:
    """Of everything, the methods asked for are those of Table 2, and figures have one dataset."""
    if name == "table2":
        return scope
    if name == "constraint":
        scope = replace(scope, presets=DEFAULT_PRESETS)  # it has those of its objectives
    if name == "choices":
        scope = replace(scope, presets=tuple(p for p in scope.presets if p in CHOICES) or DEFAULT_PRESETS)
    if name == "pairwise" or scope.datasets is None:
        return replace(scope, methods=None, datasets=None)
    figures = FIGURE_DATASETS if set(FIGURE_DATASETS) & set(scope.datasets) else scope.datasets[:1]
    return replace(scope, methods=None, datasets=figures)
