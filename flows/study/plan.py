"""The cells of a study. Nothing of Prefect: a wrong setting is said before its server is started."""

from typing import Any

from multilogger.flows.cells.runner_choice import check_seeds
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.settings import check_read_by_some, settled

USUAL_METHODS = ("weighted", "balanced", "dr")


def study_cells(
    dataset: str,
    methods: list[str] | None,
    seeds: int,
    preset: str,
    mirror: str | None,
    settings: dict[str, Any],
) -> list[Cell]:
    """One cell per method and seed, with the log's own files looked at once."""
    check_seeds(seeds)
    names = list(dict.fromkeys(methods or USUAL_METHODS))
    first = Cell(dataset=dataset, method=names[0], preset=preset, mirror=mirror, settings=settings)
    known = settled(settings, first.chosen())
    cells = [
        Cell(dataset=dataset, method=method, seed=seed, preset=preset, mirror=mirror, settings=known)
        for method in names
        for seed in range(seeds)
    ]
    for cell in cells:
        cell.chosen()  # a wrong method or setting is said now
    check_read_by_some(names, settings)
    return cells
