"""A cell as a Prefect task, and what became of it."""

from collections.abc import Callable
from dataclasses import dataclass

from prefect import task
from prefect.transactions import CommitMode, transaction

from multilogger.components.errors import BadInput, first_line
from multilogger.flows.cells.worker_processes import check_not_leaving
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.learn import run_cell
from multilogger.flows.terminal.errors import USER_ERROR, explain
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import Bar, say, tick_off
from multilogger.tasks.evaluate import load_evaluation


@dataclass(frozen=True)
class CellOutcome:
    """The evaluation of a cell and its policy, or why there is none.

    `refused` says that its input is wrong, so that the same command would end in the same way.
    """

    evaluation: Artifact | None
    policy: Artifact | None = None
    error: str = ""
    refused: bool = False

    @classmethod
    def failed(cls, error: Exception) -> "CellOutcome":
        """Of a cell that ended in an error."""
        return cls(None, error=reason_of(error), refused=isinstance(error, BadInput))


@task(name="cell", task_run_name="{name}")
def cell_task(name: str, cell: Cell) -> CellOutcome:  # noqa: ARG001 - Prefect shows the name
    """One cell in a worker process."""
    check_not_leaving()
    return finish_cell(cell)


def finish_cell(cell: Cell) -> CellOutcome:
    """Run a cell inside a task."""
    # A task is a transaction: without this its stages would hold their locks until the whole cell is done.
    with transaction(commit_mode=CommitMode.EAGER):
        done = run_cell(cell, tidied=True)
    return CellOutcome(done.outcomes[cell.roles.scores].artifact, done.outcomes["learn"].artifact)


def outcome_of(
    result: Callable[[], CellOutcome], lost: tuple[type[Exception], ...] = ()
) -> CellOutcome | None:
    """What became of a cell; None if its worker died under it, which is said by an error of `lost`."""
    try:
        return result()
    except lost:
        return None
    except Exception as error:  # a cell's failure is that cell's result
        return CellOutcome.failed(error)


def reason_of(error: Exception) -> str:
    """Why a cell or a stage failed, in one line, as of a command."""
    line, code = explain(error)
    return line if code == USER_ERROR else f"{type(error).__name__}: {first_line(error)}"


def report(cell: Cell, outcome: CellOutcome | None, advance: Bar) -> None:
    """Show a cell that is done, or has failed; one that was lost is tried again."""
    if outcome is None:
        return
    if outcome.evaluation is None:
        say(f"{cell.name} · failed: {outcome.error}")
    else:
        tick_off(f"{cell.name} · EXP {load_evaluation(outcome.evaluation).exp:.3f}")
    advance(1, cell.name)
