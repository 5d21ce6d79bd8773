"""What a target of `reproduce` runs, and what it refuses before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction.experiments import EXPERIMENTS, FIGURE_DATASETS, ONE_OF_DATASETS, STUDIES
from multilogger.flows.reproduction.scope import DEFAULT_PRESETS, Scope, check_presets, presets_that_matter
from multilogger.flows.reproduction.studies import CHOICES, STUDY_VARIES, VARIED_BY_CHOICES
from multilogger.tasks.learn_settings import KINDS, fits

TARGETS = (*EXPERIMENTS, *STUDIES, "all")
ACTIONS = {"table2": "labels", "one-of": "one-of", "constraint": "labels"}
"""The kind of actions that an experiment is of, where it is of one kind alone."""

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


def part_of(experiment: str) -> str:
    """The field of a reproduction that has an experiment's cells."""
    return experiment.replace("-", "_")


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
    for name in () if target == "all" else names:
        _check_kind(name, scope)
    scopes = {name: _narrowed(name, scope) if target == "all" else scope for name in names}
    plan = {name: _planned(name, own) if own is not None else [] for name, own in scopes.items()}
    cells = [cell for planned in plan.values() for cell in planned]
    for cell in cells:
        cell.pipeline()
    for name in scope.settings:
        if not any(name in cell.settings for cell in cells):
            raise BadInput(f"none of these methods reads {name}; leave it out, or name other methods")
    return plan


def _planned(name: str, scope: Scope) -> list[Cell]:
    """An experiment under every preset; what does not depend on the preset is in it once, under the last."""
    if name in STUDIES:
        return STUDIES[name](scope)
    cells = [cell for preset in scope.presets for cell in EXPERIMENTS[name](scope, preset)]
    used = {
        key: presets_that_matter(scope.presets, *key, scope.own_actions)
        for key in {(c.dataset, c.method) for c in cells}
    }
    return [cell for cell in cells if cell.preset in used[cell.dataset, cell.method]]


def _check_kind(name: str, scope: Scope) -> None:
    """Refuse a dataset whose actions are not of the kind that an experiment is of."""
    kind = ACTIONS.get(name)
    for dataset in scope.datasets or ():
        known = dataset in DATASETS or scope.own_actions is not None
        if kind is not None and known and scope.actions(dataset) != kind:
            others = [spec.name for spec in DATASETS.values() if spec.actions == kind]
            raise BadInput(
                f"{name} is for {KINDS[kind]}, and {dataset} has {KINDS[scope.actions(dataset)]}; "
                f"choose among {', '.join(others)}"
            )


def _narrowed(name: str, scope: Scope) -> Scope | None:
    """Of everything, the methods asked for are those of both tables, and figures have one dataset.

    None if no dataset or method that was asked for has actions of the experiment's kind.
    """
    kind = ACTIONS.get(name, "labels")
    fitting = None if scope.methods is None else tuple(m for m in scope.methods if fits(m, kind))
    datasets = scope.datasets
    if datasets is None and name == "one-of" and scope.mirror is None:
        datasets = tuple(d for d in ONE_OF_DATASETS if DATASETS[d].embedded)  # the others are on mirrors only
    if datasets is not None:
        datasets = tuple(d for d in datasets if scope.actions(d) == kind)
    if datasets == () and name != "pairwise":
        return None
    scope = replace(scope, datasets=datasets)
    if name in ("table2", "one-of"):
        return None if fitting == () else replace(scope, methods=fitting)
    if name == "constraint":
        scope = replace(scope, presets=DEFAULT_PRESETS)  # it has those of its objectives
    if name == "choices":
        scope = replace(scope, presets=tuple(p for p in scope.presets if p in CHOICES) or DEFAULT_PRESETS)
    if name == "pairwise" or scope.datasets is None:
        return replace(scope, methods=None, datasets=None)
    figures = FIGURE_DATASETS if set(FIGURE_DATASETS) & set(scope.datasets) else scope.datasets[:1]
    return replace(scope, methods=None, datasets=figures)


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
