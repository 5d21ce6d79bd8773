"""Running one cell: every stage of its pipeline, under an MLflow run of its own."""

from multilogger.flows.cell_pages import note_cell_run
from multilogger.flows.cells import Cell
from multilogger.flows.champion import promote
from multilogger.flows.flow_run import Finished, flow_run
from multilogger.flows.pipeline import learn_steps
from multilogger.flows.record_cell import cell_note, record_cell
from multilogger.flows.recorded_cells import recorded_cells
from multilogger.flows.settings import flat
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.evaluate import load_evaluation


def run_cell(cell: Cell, refresh: frozenset[str] = frozenset(), tidied: bool = False) -> Finished:
    """Realise every stage of a cell under a run of its own; `refresh` names stages to compute again."""
    chosen = cell.chosen()
    with flow_run(
        cell.method, cell.dataset, cell.seed, flat(chosen), refresh=refresh, place=cell.place, tidied=tidied
    ) as run:
        outcomes = {stage: run.runner.realise(step) for stage, step in learn_steps(chosen).items()}
        record_cell(run.tracker, run.run_id, outcomes)
        evaluation = outcomes["evaluate"].artifact
        result = load_evaluation(evaluation)
        run.paragraphs.append(cell_note(cell.dataset, cell.preset, cell.seed, result))
    note_cell_run(run.runner.store, evaluation, run.run_id)
    return Finished(outcomes, run.run_id)


def crown(tracker: Tracker, dataset: str) -> str:
    """Make the best policy of a dataset its champion if it beats the present one; says who it is."""
    return promote(tracker, dataset, recorded_cells(tracker, dataset)).message
