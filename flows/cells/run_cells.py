"""Running many cells: cached ones are looked up, the rest share the workers, and none sinks the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.results import CellResult
from multilogger.flows.cells.cell_task import CellOutcome
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import CellPages, flow_run
from multilogger.flows.pipelines.settings import flat
from multilogger.tasks.engine.progress import open_bar, say, tick_off
from multilogger.tasks.engine.runner import Lookup
from multilogger.tasks.engine.stage import PlannedStage
from multilogger.tasks.engine.store import Store
from multilogger.tasks.evaluate import load_evaluation

MOST_ROUNDS = 3
LOST = "its worker process died (out of memory, or killed)"


@dataclass(frozen=True)
class CellsDone:
    """The result of every cell, in their order; how many were run now, and how many were finished already.

    `refusal` says what is wrong where the input of every cell is; it is empty if any cell is finished.
    """

    results: list[CellResult]
    computed: int
    reused: int
    refusal: str = ""


def run_cells(cells: Sequence[Cell], running: RunnerChoice) -> CellsDone:
    """Run what is not finished, and equal cells once."""
    store = Store.current()
    targets = [cell.pipeline()[cell.roles.scores] for cell in cells]
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
    if not _all_refused(unusable, len(wanted)):  # else the command itself says why
        _say_unusable(unusable, missing)
    known |= unusable
    rest = {target: cell for target, cell in missing.items() if target not in unusable}
    known |= _run_missing(_leaders_first(rest), running)
    pages = CellPages(store)
    results = [_result(cell, known[target], pages) for cell, target in zip(cells, targets, strict=True)]
    succeeded = sum(outcome.evaluation is not None for outcome in known.values())
    refusal = next(iter(known.values())).error if _all_refused(known, len(wanted)) else ""
    return CellsDone(results, succeeded - reused, reused, refusal)


def _result(cell: Cell, outcome: CellOutcome, pages: CellPages) -> CellResult:
    if outcome.evaluation is None:
        return cell.failure(outcome.error)
    evaluation = load_evaluation(outcome.evaluation)
    return cell.result(evaluation, outcome.policy, pages.address(cell.dataset, outcome.evaluation))


def _prepare_data(missing: dict[PlannedStage, Cell], lookup: Lookup) -> dict[PlannedStage, CellOutcome]:
    """Download and reduce each dataset once, before the fan-out; the cells of one that fails are given up."""
    failures: dict[PlannedStage, CellOutcome | None] = {}
    for cell in missing.values():
        data = cell.pipeline()[cell.roles.data]
        if data in failures or lookup.find(data) is not None:
            continue
        failures[data] = None
        try:
            with flow_run("data", cell.dataset, cell.seed, flat(cell.chosen()), tidied=True) as run:
                run.runner.realise(data)
        except Exception as error:  # the other datasets go on
            failures[data] = CellOutcome.failed(error)
    outcomes = {target: failures.get(cell.pipeline()[cell.roles.data]) for target, cell in missing.items()}
    return {target: outcome for target, outcome in outcomes.items() if outcome is not None}


def _all_refused(outcomes: dict[PlannedStage, CellOutcome], cells: int) -> bool:
    """Whether the input of every cell is wrong."""
    return cells > 0 and sum(outcome.refused for outcome in outcomes.values()) == cells


def _say_unusable(unusable: dict[PlannedStage, CellOutcome], cells: dict[PlannedStage, Cell]) -> None:
    """Each dataset that cannot be had, once."""
    lines = [f"{cells[target].dataset} · cannot be had: {one.error}" for target, one in unusable.items()]
    for line in dict.fromkeys(lines):
        say(line)


def _leaders_first(cells: dict[PlannedStage, Cell]) -> dict[PlannedStage, Cell]:
    """One cell of each log first: two workers that start on the same log would wait for each other."""
    seen: set[PlannedStage] = set()
    leaders: list[PlannedStage] = []
    for target, cell in cells.items():
        log = cell.pipeline()[cell.roles.log]
        if log not in seen:
            seen.add(log)
            leaders.append(target)
    ranked = [*leaders, *(target for target in cells if target not in set(leaders))]
    return {target: cells[target] for target in ranked}


def _run_missing(cells: dict[PlannedStage, Cell], running: RunnerChoice) -> dict[PlannedStage, CellOutcome]:
    """Run cells by the chosen runner; those lost to a worker that died are tried again."""
    outcomes: dict[PlannedStage, CellOutcome] = {}
    for number in range(MOST_ROUNDS):
        targets = [target for target in cells if target not in outcomes]
        if not targets:
            break
        done = running.run_round()([cells[target] for target in targets], running, again=number > 0)
        outcomes |= {target: o for target, o in zip(targets, done, strict=True) if o is not None}
    return {target: outcomes.get(target, CellOutcome(None, error=LOST)) for target in cells}
