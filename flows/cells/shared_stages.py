"""The planned stages that several cells share: each is one node of a graph, and is computed once."""

from collections import Counter
from collections.abc import Sequence

from multilogger.flows.pipelines.cells import Cell
from multilogger.tasks.engine.stage import PlannedStage


def shared_stages(cells: Sequence[Cell]) -> dict[PlannedStage, Cell]:
    """Planned stages of several cells, each after those that feed it, with the first cell that needs it.

    Not the data: its files may be on the client's disk alone, so the client has made it before the fan-out.
    """
    needed = Counter(planned for cell in cells for planned in cell.pipeline().values())
    data = {one for cell in cells for one in up_to(cell.pipeline()[cell.roles.data])}
    found: dict[PlannedStage, Cell] = {}
    for cell in cells:
        for planned in cell.pipeline().values():
            if needed[planned] > 1 and planned not in data:
                found.setdefault(planned, cell)
    return found


def up_to(planned: PlannedStage) -> list[PlannedStage]:
    """A planned stage and all that feed it."""
    return [planned, *(one for _, source in planned.inputs for one in up_to(source))]
