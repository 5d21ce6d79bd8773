"""Cells in worker processes of this machine; locks in the store keep them from computing a stage twice."""

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from prefect import flow
from prefect.futures import as_completed

from multilogger.flows.cells.cell_task import CellOutcome, cell_task, outcome_of, report
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.cells.worker_processes import process_pool, worker_surroundings, workers_end_with_block
from multilogger.flows.pipelines.cells import Cell
from multilogger.tasks.engine.progress import open_bar, unticked


def run_round(cells: list[Cell], running: RunnerChoice, again: bool) -> list[CellOutcome | None]:
    """Run cells once, in their order; None stands for a cell that was lost with its worker.

    One at a time they run in this process: a worker takes seconds to start, and nothing would run beside it.
    Not those that were lost before, and are tried `again`.
    """
    workers = min(running.workers, len(cells))
    if workers == 1 and not again:
        return fan_out(cells, here=True)
    with worker_surroundings():
        return fan_out.with_options(task_runner=process_pool(workers))(cells)


@flow(name="cells", flow_run_name="cells", validate_parameters=False)
def fan_out(cells: list[Cell], here: bool = False) -> list[CellOutcome | None]:
    """One pool of workers, or no process but this."""
    outcomes: list[CellOutcome | None] = [None] * len(cells)
    with open_bar("cells", len(cells)) as advance, workers_end_with_block():
        for number, outcome in _one_by_one(cells) if here else _as_completed(cells):
            outcomes[number] = outcome
            report(cells[number], outcome, advance)
    return outcomes


def _as_completed(cells: list[Cell]) -> Iterator[tuple[int, CellOutcome | None]]:
    futures = {cell_task.submit(cell.name, cell): number for number, cell in enumerate(cells)}
    for future in as_completed(list(futures)):
        yield futures[future], outcome_of(future.result, (BrokenProcessPool,))


def _one_by_one(cells: list[Cell]) -> Iterator[tuple[int, CellOutcome | None]]:
    for number, cell in enumerate(cells):
        with unticked():
            outcome = outcome_of(partial(cell_task, cell.name, cell))
        yield number, outcome
