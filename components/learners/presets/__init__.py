"""Settings by preset, dataset and method: as printed, the printed objective with our network, and ours."""

from collections.abc import Callable

from multilogger.components.errors import BadInput
from multilogger.components.learners.presets.additive import (
    ADDITIVE,
    ADDITIVE_METHODS,
    additive_preset,
    doubly_robust_preset,
)
from multilogger.components.learners.presets.paper import paper_preset
from multilogger.components.learners.presets.printed_objective import printed_objective_preset
from multilogger.components.learners.presets.tuned import NEVER_BINDS, tuned_preset
from multilogger.components.learners.training.settings import LearnerSettings

__all__ = ["ADDITIVE", "ADDITIVE_METHODS", "NEVER_BINDS", "PAPER_METHODS", "PRESETS", "preset"]

OF_THE_PAPER: dict[str, Callable[[str, str], LearnerSettings]] = {
    "paper": paper_preset,
    "printed-objective": printed_objective_preset,
    "tuned": tuned_preset,
}
"""What gives the paper's methods their settings, in the order in which tables show it."""

PRESETS = tuple(OF_THE_PAPER)
PAPER_METHODS = (
    "wcrm",
    *(f"{name}{kind}" for name in ("naive", "weighted", "balanced") for kind in ("", "-reg", "-exact")),
)
"""The methods whose settings differ between presets."""


def preset(name: str, dataset: str, method: str) -> LearnerSettings:
    """The settings of a preset for a dataset (any name: unknown ones take the defaults) and a method."""
    if name not in PRESETS:
        raise BadInput(f"unknown preset {name!r}; choose one of {', '.join(PRESETS)}")
    # What is not of the paper has the same settings in every preset.
    if method in ADDITIVE_METHODS:
        return additive_preset(dataset)
    if method == "dr":
        return doubly_robust_preset(dataset)
    if method == "full-information":
        return tuned_preset(dataset, method)
    return OF_THE_PAPER[name](dataset, method)
