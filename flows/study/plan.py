"""The cells of a study. Nothing of Prefect: a wrong setting is said before its server is started."""

from typing import Any

from multilogger.flows.cells.running import check_seeds
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.wiring import OWN

USUAL_METHODS = ("weighted", "balanced", "dr")


def study_cells(
    dataset: str, methods: list[str], seeds: int, preset: str, mirror: str | None, settings: dict[str, Any]
) -> list[Cell]:
    """One cell per method and seed, with the log's own files looked at once."""
    check_seeds(seeds)
    first = Cell(dataset=dataset, method=methods[0], preset=preset, mirror=mirror, settings=settings)
    if first.roles is OWN:
        known = first.chosen()["import-log"].params()
        settings = settings | {f"import-log.{name}": known[name] for name in ("digest", "kind", "actions")}
    cells = [
        Cell(dataset=dataset, method=method, seed=seed, preset=preset, mirror=mirror, settings=settings)
        for method in dict.fromkeys(methods)
        for seed in range(seeds)
    ]
    for cell in cells:
        cell.chosen()  # a wrong method or setting is said now
    return cells
