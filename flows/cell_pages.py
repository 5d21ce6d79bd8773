"""Where MLflow shows the run of each cell.

The run of a finished cell is noted in the store under the key of its evaluation: a reproduction links
hundreds of cells, and asking MLflow for their runs takes seconds.
"""

import contextlib

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker


def note_cell_run(store: Store, evaluation: Artifact, run_id: str) -> None:
    """Remember which run shows the cell that ended in this evaluation; the last one counts."""
    path = store.cell_runs / evaluation.key
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{run_id}")
    draft.write_text(f"{evaluation.run_id} {run_id}", encoding="ascii")
    draft.replace(path)


class CellPages:
    """The addresses of cells' pages, below that of MLflow's."""

    def __init__(self, store: Store) -> None:
        self._store, self._tracker = store, Tracker(store)
        self._experiments: dict[str, str] = {}
        self._searched: dict[str, dict[str, str]] = {}

    def address(self, dataset: str, evaluation: Artifact) -> str:
        """The page of the cell's run, or of its evaluation's if there is no run of the cell."""
        if dataset not in self._experiments:
            self._experiments[dataset] = self._tracker.experiment(dataset)
        run = self._noted(evaluation) or self._found(dataset, evaluation)
        return f"#/experiments/{self._experiments[dataset]}/runs/{run}"

    def _noted(self, evaluation: Artifact) -> str | None:
        """The noted run, unless the evaluation was made anew since."""
        with contextlib.suppress(OSError, ValueError):
            made, run = (self._store.cell_runs / evaluation.key).read_text(encoding="ascii").split()
            return run if made == evaluation.run_id else None
        return None

    def _found(self, dataset: str, evaluation: Artifact) -> str:
        if dataset not in self._searched:
            self._searched[dataset] = self._tracker.flow_runs_by_stage(dataset, "evaluate")
        run = self._searched[dataset].get(evaluation.run_id)
        if run is None:
            return evaluation.run_id
        note_cell_run(self._store, evaluation, run)
        return run
