"""The cells of the study "When does the constraint help?" (beyond the paper), one list per axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput
from multilogger.components.reproduction.tables.constraint import (
    AXES,
    BASELINE,
    ESTIMATORS,
    OURS,
    PRINTED,
    STEPS_AXIS,
)
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction.scope import DEFAULT_PRESETS, Scope

STUDY_METHODS = (*(name for estimator in ESTIMATORS for name in (estimator, f"{estimator}-reg")), BASELINE)
OBJECTIVE_PRESETS = {PRINTED: "printed-objective", OURS: "tuned"}
BASELINE_PRESET = "printed-objective"  # WCRM has a clip, a penalty and a shift of its own in all points
FIRST_ALPHA = 0.05

SHIFTS: dict[str, dict[str, Any]] = {
    "no shift": {"learn.loss_shift": "none"},
    "half shift": {"learn.loss_shift": "baseline", "learn.shift_share": 0.5},
    "whole shift": {"learn.loss_shift": "baseline"},
}
WEIGHTS: dict[str, dict[str, Any]] = {
    "raw": {"learn.weights": "raw"},
    "cut": {"learn.weights": "clip", "learn.clip": 30.0},
}


@dataclass(frozen=True)
class Point:
    """A place in the study; `log` are the settings that make the log, `objective_settings` the step's own."""

    axis: str
    level: str
    objective: str
    preset: str
    log: Mapping[str, Any] = field(default_factory=dict)
    objective_settings: Mapping[str, Any] = field(default_factory=dict)


def points(labels: int | None = None) -> list[Point]:
    """Every point, in order; levels of labels that a dataset of so many labels does not have are left out."""
    found = [
        Point(STEPS_AXIS, step, step, OBJECTIVE_PRESETS[PRINTED], objective_settings=_step(step))
        for step in AXES[STEPS_AXIS].levels
    ]
    # The last step has our objective; with the constraint of `tuned` it is what the other axes call ours.
    found.append(Point(STEPS_AXIS, AXES[STEPS_AXIS].levels[-1], OURS, OBJECTIVE_PRESETS[OURS]))
    for axis in ("passes", "alpha", "labels"):
        for level in AXES[axis].levels:
            if axis == "labels" and labels is not None and level != "all" and int(level) >= labels:
                continue
            log = {} if level == AXES[axis].base else _log(axis, level)
            found += [Point(axis, level, name, preset, log) for name, preset in OBJECTIVE_PRESETS.items()]
    return found


def study_cells(
    scope: Scope, datasets: Sequence[str], loggers: Mapping[str, Mapping[str, Any]]
) -> list[Cell]:
    """Points x methods x seeds; `loggers` are the settings of a dataset's loggers."""
    if scope.presets != DEFAULT_PRESETS:
        named, given = ", ".join(OBJECTIVE_PRESETS.values()), ", ".join(scope.presets)
        raise BadInput(f"constraint has presets of its own ({named}), got {given}; leave --preset out")
    cells: list[Cell] = []
    for dataset in datasets:
        known = DATASETS.get(dataset)
        for point in points(known.labels if known else None):
            place = {"axis": point.axis, "level": point.level, "objective": point.objective}
            for method in STUDY_METHODS:
                settings = {**loggers.get(dataset, {}), **point.log}
                if method != BASELINE:
                    settings |= point.objective_settings
                preset = BASELINE_PRESET if method == BASELINE else point.preset
                cells += scope.cells(preset, dataset, method, settings, **place)
    return cells


def _step(step: str) -> dict[str, Any]:
    shift, weights = step.split(", ")
    return {**SHIFTS[shift], **WEIGHTS[weights]}


def _log(axis: str, level: str) -> dict[str, Any]:
    """The setting that puts an axis at a level."""
    if axis == "passes":
        return {"replay.passes": int(level)}
    if axis == "alpha":
        return {"train-loggers.alphas": [FIRST_ALPHA, float(level)]}
    return {"reduce.labels": int(level)}


STUDY_VARIES = tuple(sorted({name for p in points() for name in (*p.log, *p.objective_settings)}))
"""Settings that the study itself changes from cell to cell."""
