"""Settings by preset, dataset and method: as printed, the printed objective with our network, and ours."""

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.errors import BadInput, meant
from multilogger.components.learners.methods import find_method
from multilogger.components.learners.presets import auto, paper, printed_objective, tuned
from multilogger.components.learners.presets.table import Row, look_up
from multilogger.components.learners.training.settings import Settings

PRESETS: dict[str, tuple[Row, ...]] = {
    "paper": (*paper.PAPER_ROWS, *tuned.OWN_ROWS),
    "printed-objective": (*printed_objective.PRINTED_OBJECTIVE_ROWS, *tuned.OWN_ROWS),
    "tuned": (*tuned.PAPER_ROWS, *tuned.OWN_ROWS),
    "auto": auto.AUTO_ROWS,
}
"""In the order in which tables show them."""


def preset(name: str, dataset: str, method: str, space: str | None = None) -> Settings:
    """The settings of a preset for a dataset (any name: unknown ones take the defaults) and a method.

    `space` names the actions of a dataset that is not registered; label vectors unless it is given.
    """
    if name not in PRESETS:
        raise BadInput(f"unknown preset {name!r}; {meant(name, PRESETS)}choose one of {', '.join(PRESETS)}")
    find_method(method)
    known = DATASETS[dataset].actions if dataset in DATASETS else "labels"
    return look_up(PRESETS[name], dataset, method, space or known)
