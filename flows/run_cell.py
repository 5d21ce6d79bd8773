"""Running one cell: every stage of its pipeline, under an MLflow run of its own."""

from multilogger.flows.cells import Cell
from multilogger.flows.flow_run import Finished, flow_run
from multilogger.flows.pipeline import learn_steps
from multilogger.flows.settings import flat
from multilogger.tasks.cell_metrics import cell_metrics
from multilogger.tasks.evaluate import load_evaluation


def run_cell(cell: Cell, refresh: frozenset[str] = frozenset(), tidied: bool = False) -> Finished:
    """Realise every stage of a cell under a run of its own; `refresh` names stages to compute again."""
    chosen = cell.chosen()
    with flow_run(
        cell.method, cell.dataset, cell.seed, flat(chosen), refresh=refresh, place=cell.place, tidied=tidied
    ) as run:
        outcomes = {stage: run.runner.realise(step) for stage, step in learn_steps(chosen).items()}
        result = load_evaluation(outcomes["evaluate"].artifact)
        run.log_metrics(cell_metrics(result))
    return Finished(outcomes, run.run_id)
