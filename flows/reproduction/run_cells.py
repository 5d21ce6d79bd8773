"""Running many cells: cached ones are looked up, the rest share the cores, and none sinks the others."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial

from prefect import flow, task
from prefect.futures import as_completed
from prefect.transactions import CommitMode, transaction

from multilogger.components.errors import first_line
from multilogger.components.reproduction.results import CellResult
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import CellPages, flow_run
from multilogger.flows.pipelines.learn import run_cell
from multilogger.flows.pipelines.pipeline import flat
from multilogger.flows.reproduction.worker_processes import (
    check_not_leaving,
    process_pool,
    worker_surroundings,
    workers_end_with_block,
)
from multilogger.flows.terminal.errors import USER_ERROR, explain
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import Bar, open_bar, say, tick_off, unticked
from multilogger.tasks.engine.runner import Lookup
from multilogger.tasks.engine.stage import Step
from multilogger.tasks.engine.store import Store
from multilogger.tasks.evaluate import load_evaluation

MOST_ROUNDS = 3
LOST = "its worker process died (out of memory, or killed)"


@dataclass(frozen=True)
class CellOutcome:
    """The evaluation of a cell and its policy, or why there is none."""

    evaluation: Artifact | None
    policy: Artifact | None = None
    error: str = ""


@dataclass(frozen=True)
class CellsDone:
    """The result of every cell, in their order; how many were run now, and how many were finished already."""

    results: list[CellResult]
    computed: int
    reused: int


@task(name="cell", task_run_name="{name}")
def cell_task(name: str, cell: Cell) -> CellOutcome:  # noqa: ARG001 - Prefect shows the name
    """One cell in a worker process."""
    check_not_leaving()
    # A task is a transaction: without this its stages would hold their locks until the whole cell is done.
    with transaction(commit_mode=CommitMode.EAGER):
        done = run_cell(cell, tidied=True)
    return CellOutcome(done.outcomes[cell.roles.scores].artifact, done.outcomes["learn"].artifact)


def run_cells(cells: Sequence[Cell], workers: int) -> CellsDone:
    """Run what is not finished, and equal cells once."""
    store = Store.current()
    steps = [cell.steps() for cell in cells]
    targets = [step[cell.roles.scores] for cell, step in zip(cells, steps, strict=True)]
    wanted = dict(zip(targets, cells, strict=True))
    with open_bar("looking for finished cells", len(wanted)) as advance:
        lookup, known = Lookup(store), {}
        for target in wanted:
            if (artifact := lookup.find(target)) is not None:
                known[target] = CellOutcome(artifact, lookup.find(dict(target.inputs)["policy"]))
            advance()
    reused = len(known)
    missing = {target: cell for target, cell in wanted.items() if target not in known}
    tick_off(f"{reused} of {len(wanted)} cells are finished already")
    unusable = _prepare_data(missing, lookup)
    known |= unusable
    rest = {target: cell for target, cell in missing.items() if target not in unusable}
    known |= _run_missing(_leaders_first(rest), workers)
    pages = CellPages(store)
    results = [_result(cell, known[target], pages) for cell, target in zip(cells, targets, strict=True)]
    succeeded = sum(outcome.evaluation is not None for outcome in known.values())
    return CellsDone(results, succeeded - reused, reused)


def _result(cell: Cell, outcome: CellOutcome, pages: CellPages) -> CellResult:
    if outcome.evaluation is None:
        return cell.failure(outcome.error)
    evaluation = load_evaluation(outcome.evaluation)
    return cell.result(evaluation, outcome.policy, pages.address(cell.dataset, outcome.evaluation))


def _prepare_data(missing: dict[Step, Cell], lookup: Lookup) -> dict[Step, CellOutcome]:
    """Download and reduce each dataset once, before the fan-out; the cells of one that fails are given up."""
    reasons: dict[Step, str] = {}
    for cell in missing.values():
        data = cell.steps()[cell.roles.data]
        if data in reasons or lookup.find(data) is not None:
            continue
        reasons[data] = ""
        try:
            with flow_run("data", cell.dataset, cell.seed, flat(cell.chosen()), tidied=True) as run:
                run.runner.realise(data)
        except Exception as error:  # the other datasets go on
            reasons[data] = _reason(error)
            say(f"{cell.dataset} · cannot be had: {reasons[data]}")
    failed = {target: reasons.get(cell.steps()[cell.roles.data], "") for target, cell in missing.items()}
    return {target: CellOutcome(None, error=reason) for target, reason in failed.items() if reason}


def _leaders_first(cells: dict[Step, Cell]) -> dict[Step, Cell]:
    """One cell of each log first: two workers that start on the same log would wait for each other."""
    seen: set[Step] = set()
    leaders: list[Step] = []
    for target, cell in cells.items():
        log = cell.steps()[cell.roles.log]
        if log not in seen:
            seen.add(log)
            leaders.append(target)
    ranked = [*leaders, *(target for target in cells if target not in set(leaders))]
    return {target: cells[target] for target in ranked}


def _run_missing(cells: dict[Step, Cell], workers: int) -> dict[Step, CellOutcome]:
    """Run cells in worker processes; those lost to a worker that died are tried again in a new pool.

    One at a time they run in this process: a worker takes seconds to start, and nothing would run beside it.
    """
    outcomes: dict[Step, CellOutcome] = {}
    if min(workers, len(cells)) == 1:
        return {t: o for t, o in zip(cells, fan_out(list(cells.values()), here=True), strict=True) if o}
    for _ in range(MOST_ROUNDS):
        targets = [target for target in cells if target not in outcomes]
        if not targets:
            break
        with worker_surroundings():
            one_round = fan_out.with_options(task_runner=process_pool(min(workers, len(targets))))
            done = one_round([cells[target] for target in targets])
        outcomes |= {target: o for target, o in zip(targets, done, strict=True) if o is not None}
    return {target: outcomes.get(target, CellOutcome(None, error=LOST)) for target in cells}


@flow(name="cells", flow_run_name="cells", validate_parameters=False)
def fan_out(cells: list[Cell], here: bool = False) -> list[CellOutcome | None]:
    """One pool of workers, or no process but this; None stands for a cell that was lost with its worker."""
    outcomes: list[CellOutcome | None] = [None] * len(cells)
    with open_bar("cells", len(cells)) as advance, workers_end_with_block():
        for number, outcome in _one_by_one(cells) if here else _as_completed(cells):
            outcomes[number] = outcome
            _report(cells[number], outcomes[number], advance)
    return outcomes


def _as_completed(cells: list[Cell]) -> Iterator[tuple[int, CellOutcome | None]]:
    futures = {cell_task.submit(cell.name, cell): number for number, cell in enumerate(cells)}
    for future in as_completed(list(futures)):
        yield futures[future], _outcome(future.result)


def _one_by_one(cells: list[Cell]) -> Iterator[tuple[int, CellOutcome | None]]:
    for number, cell in enumerate(cells):
        with unticked():
            outcome = _outcome(partial(cell_task, cell.name, cell))
        yield number, outcome


def _outcome(result: Callable[[], CellOutcome]) -> CellOutcome | None:
    """What became of a cell; None if its worker died under it."""
    try:
        return result()
    except BrokenProcessPool:
        return None
    except Exception as error:  # a cell's failure is that cell's result
        return CellOutcome(None, error=_reason(error))


def _reason(error: Exception) -> str:
    """One line, as of a command."""
    line, code = explain(error)
    return line if code == USER_ERROR else f"{type(error).__name__}: {first_line(error)}"


def _report(cell: Cell, outcome: CellOutcome | None, advance: Bar) -> None:
    if outcome is None:
        return
    if outcome.evaluation is None:
        say(f"{cell.name} · failed: {outcome.error}")
    else:
        tick_off(f"{cell.name} · EXP {load_evaluation(outcome.evaluation).exp:.3f}")
    advance(1, cell.name)
