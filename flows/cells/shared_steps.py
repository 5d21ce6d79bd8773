"""The steps that several cells share: each is one node of a graph, computed once whoever needs it."""

from collections import Counter
from collections.abc import Sequence

from multilogger.flows.pipelines.cells import Cell
from multilogger.tasks.engine.stage import Step


def shared_steps(cells: Sequence[Cell]) -> dict[Step, Cell]:
    """Steps of several cells, each after those that feed it, with the first cell that needs it.

    Not the data: its files may be on the client's disk alone, so the client has made it before the fan-out.
    """
    needed = Counter(step for cell in cells for step in cell.steps().values())
    data = {one for cell in cells for one in up_to(cell.steps()[cell.roles.data])}
    found: dict[Step, Cell] = {}
    for cell in cells:
        for step in cell.steps().values():
            if needed[step] > 1 and step not in data:
                found.setdefault(step, cell)
    return found


def up_to(step: Step) -> list[Step]:
    """A step and all that feeds it."""
    return [step, *(one for _, source in step.inputs for one in up_to(source))]
