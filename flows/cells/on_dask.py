"""Cells on a Dask cluster: one graph, in which a stage that several cells share is one node.

So a shared stage is computed once with no lock between hosts. Workers may have stores of their own: what one
lacks it restores from MLflow by hash, and so does this process with what comes of the cells. Dask gives the
work of a worker that died to another.
"""

import os
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from distributed.scheduler import KilledWorker
from prefect import flow, task
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.transactions import CommitMode, transaction
from prefect_dask.task_runners import DaskTaskRunner

from multilogger.flows.cells.cell_task import CellOutcome, finish_cell, outcome_of, report
from multilogger.flows.cells.fetching import Fetching, FoundElsewhere, offer_data
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.cells.shared_stages import shared_stages
from multilogger.flows.cells.worker_processes import worker_surroundings
from multilogger.flows.cluster.connect import open_cluster, set_up
from multilogger.flows.cluster.probing import check_workers
from multilogger.flows.cluster.stopping import stoppable, stopped_with_block
from multilogger.flows.cluster.worker_set_up import environment_to_pass
from multilogger.flows.environment import patient_retries
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import flow_run, tidy
from multilogger.flows.pipelines.settings import flat
from multilogger.tasks.engine.progress import open_bar
from multilogger.tasks.engine.stage import PlannedStage
from multilogger.tasks.engine.store import Store

POLL_SECONDS = 0.1


def run_round(cells: list[Cell], running: RunnerChoice, again: bool) -> list[CellOutcome | None]:  # noqa: ARG001
    """Run cells once, in their order; None stands for a cell that was lost with its workers."""
    try:
        with (
            worker_surroundings() as server,
            open_cluster(running.address, min(running.workers, len(cells))) as cluster,
        ):
            set_up(cluster, environment_to_pass(server))
            if check_workers(cluster, server):
                offer_data(cells)
            os.environ.update(patient_retries())  # for the rest of the command: the server has answered
            runner: Any = DaskTaskRunner(
                address=cluster.address, client_kwargs={"security": cluster.security}
            )
            return fan_out.with_options(task_runner=runner)(cells)
    except BaseException:
        if running.address is None:
            tidy(Store.current())  # of workers that had to be killed
        raise


@flow(name="cells", flow_run_name="cells", validate_parameters=False)
def fan_out(cells: list[Cell]) -> list[CellOutcome | None]:
    """The graph of all cells, and what became of each."""
    outcomes: list[CellOutcome | None] = [None] * len(cells)
    client, asker = _client_and_asker()
    fetching, sent = Fetching(Store.current()), list[Any]()
    with open_bar("cells", len(cells)) as advance, stopped_with_block(client, asker, sent):
        nodes = _send_shared(cells, asker, sent)
        futures: dict[Any, int] = {}
        for number, cell in enumerate(cells):
            given = (cell.name, cell, asker)
            future = cell_on_worker.submit(*given, wait_for=_nodes_of(cell, nodes), return_state=False)
            futures[_sent(future, sent)] = number
        for future in _as_completed(list(futures)):
            number = futures[future]
            cell = cells[number]
            outcome = outcome_of(partial(_result, cell, future, fetching), (KilledWorker,))
            if outcome is not None and outcome.error:
                outcome = _cause(_nodes_of(cell, nodes)) or outcome
            outcomes[number] = outcome
            report(cell, outcome, advance)
    return outcomes


def _as_completed(futures: list[Any]) -> Iterator[Any]:
    """Futures as they are done; looked at by the clock, for nothing else lets Ctrl-C through at once."""
    while futures:
        for future in [one for one in futures if one.wrapped_future.done()]:
            futures.remove(future)
            yield future
        time.sleep(POLL_SECONDS if futures else 0)


def _client_and_asker() -> tuple[Any, str]:
    """The Dask client of this flow run, and the run's id."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not isinstance(context.task_runner, DaskTaskRunner):
        raise RuntimeError("this flow runs on Dask")
    return context.task_runner.client, str(context.flow_run.id)


def _send_shared(
    cells: Sequence[Cell], asker: str, sent: list[Any]
) -> dict[PlannedStage, PrefectFuture[None]]:
    """One node per planned stage that several cells share."""
    nodes: dict[PlannedStage, PrefectFuture[None]] = {}
    for planned, cell in shared_stages(cells).items():
        name = f"{cell.dataset} · {planned.stage.name} · seed {cell.seed}"
        feeds = [nodes[source] for _, source in planned.inputs if source in nodes]
        nodes[planned] = _sent(
            shared_on_worker.submit(name, planned, cell, asker, wait_for=feeds, return_state=False), sent
        )
    return nodes


def _nodes_of(cell: Cell, nodes: dict[PlannedStage, PrefectFuture[None]]) -> list[PrefectFuture[None]]:
    return [nodes[planned] for planned in cell.pipeline().values() if planned in nodes]


def _sent(future: Any, sent: list[Any]) -> Any:
    sent.append(future.wrapped_future)
    return future


def _result(cell: Cell, future: Any, fetching: Fetching) -> CellOutcome:
    """What a worker found, in the store of this process."""
    found: FoundElsewhere = future.result()
    future.wrapped_future.release()  # else Dask runs the cell again if its worker dies later
    return fetching.here(cell, found)


def _cause(nodes: Sequence[PrefectFuture[None]]) -> CellOutcome | None:
    """A shared stage that failed is why its cells failed: Prefect says of them that they were not ready."""
    for node in nodes:
        try:
            node.result()
        except KilledWorker:
            return None
        except Exception as error:  # the first in their order is the cause of the others
            return CellOutcome.failed(error)
    return None


@task(name="cell", task_run_name="{name}")
def cell_on_worker(name: str, cell: Cell, asker: str) -> FoundElsewhere:  # noqa: ARG001 - Prefect shows the name
    """One cell in a Dask worker."""
    with stoppable(asker):
        store = _tidied(Store.current().open().root)
        return FoundElsewhere(finish_cell(cell), store.identity)


@task(name="shared", task_run_name="{name}")
def shared_on_worker(name: str, planned: PlannedStage, cell: Cell, asker: str) -> None:  # noqa: ARG001
    """A stage that several cells share, in a Dask worker; the cells find it in the store, or in MLflow."""
    with stoppable(asker), transaction(commit_mode=CommitMode.EAGER):
        _tidied(Store.current().open().root)
        params, place = flat(cell.chosen()), planned.stage.name
        with flow_run("shared", cell.dataset, cell.seed, params, place=place, tidied=True) as run:
            run.runner.realise(planned)


@cache
def _tidied(root: Path) -> Store:
    """The store of this worker; what killed workers left in it is marked once in each process."""
    store = Store(root)
    tidy(store)
    return store
