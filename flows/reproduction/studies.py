"""Studies beyond the paper's experiments: which settings each of their cells has.

`reproduce choices` changes one thing at a time that the paper leaves open. `reproduce constraint` asks when
the constraint helps, and has one list of cells per axis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput
from multilogger.components.learners.presets.tuned import NEVER_BINDS
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

Choices = dict[str, dict[str, dict[str, Any]]]
"""Settings by method and name of the choice; `default` is the preset itself."""

# From ours: of every learner's training, shown on `weighted`, and of the constraint, on `weighted-reg`.
OF_OURS: Choices = {
    "weighted": {
        "default": {},
        "loss_shift=none": {"learn.loss_shift": "none"},
        "loss_shift=poem": {"learn.loss_shift": "poem"},
        "loss_shift=running": {"learn.loss_shift": "running"},
        "weights=raw": {"learn.weights": "raw"},
        "weights=self-normalised": {"learn.weights": "self-normalised"},
        "standardise=false": {"learn.standardise": False},
        "batch_norm=true": {"learn.batch_norm": True},
        "freeze_lambda=true": {"learn.freeze_lambda": True},
        "pessimism=0": {"learn.pessimism": 0.0},
        "split_by=context": {"replay.split_by": "context"},
        "hidden=10": {"learn.hidden": "10"},
        "C=0.1": {"train-loggers.C": 0.1},
        "preset=paper": {"learn.preset": "paper"},
    },
    "weighted-reg": {
        "default": {},
        "kappa=1000000": {"learn.kappa": NEVER_BINDS},
        "divergence=exact": {"learn.divergence": "exact"},
        "warm_up_steps=0": {"learn.warm_up_steps": 0},
        "moving_average=0": {"learn.moving_average": 0.0},
        "inner_iterations=5": {"learn.inner_iterations": 5},
        "regulariser_rate=0.0001": {"learn.regulariser_rate": 1e-4},
    },
}

# From the printed settings: what of all that is not printed brings the paper's own figures nearest.
UNPRINTED: dict[str, dict[str, Any]] = {
    "default": {},
    "standardise=true": {"learn.standardise": True},
    "loss_shift=baseline": {"learn.loss_shift": "baseline"},
    "loss_shift=poem": {"learn.loss_shift": "poem"},
    "weights=self-normalised": {"learn.weights": "self-normalised"},
    "risk_rate=0.001": {"learn.risk_rate": 1e-3},
    "batch_norm=false": {"learn.batch_norm": False},
    "hidden=128": {"learn.hidden": "128"},
}
OF_THE_PAPER: Choices = dict.fromkeys(("naive", "naive-reg", "weighted", "weighted-reg"), UNPRINTED)

CHOICES: dict[str, Choices] = {"paper": OF_THE_PAPER, "tuned": OF_OURS}
_CHANGES = [change for own in CHOICES.values() for changes in own.values() for change in changes.values()]
VARIED_BY_CHOICES = tuple(sorted({name for change in _CHANGES for name in change}))
"""Settings that these experiments themselves change from cell to cell."""


def choices_of(preset: str) -> Choices:
    """The choices that are measured from a preset."""
    if preset not in CHOICES:
        known = " and ".join(CHOICES)
        raise BadInput(f"choices are changes of the presets {known}, got {preset}; name one of these")
    return CHOICES[preset]


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


def constraint_cells(
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
