"""The pages of cells: noted in the store, else asked of MLflow."""

import shutil
from pathlib import Path

import pytest

from multilogger.flows.pipelines.flow_run import CellPages, note_cell_run
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker


@pytest.fixture
def store(tmp_path: Path, migrated_mlflow: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copy(migrated_mlflow, tmp_path / "mlflow.db")
    return Store(tmp_path).open()


def evaluation(store: Store, run_id: str) -> Artifact:
    return Artifact(stage="evaluate", key="k", path="p", files={}, run_id=run_id, root=store.root)


def run_of(store: Store, evaluate_run: str) -> str:
    return CellPages(store).address("digits", evaluation(store, evaluate_run)).rsplit("/", 1)[1]


def test_a_noted_run_counts_until_the_evaluation_is_made_anew(store: Store) -> None:
    assert run_of(store, "first") == "first"
    note_cell_run(store, evaluation(store, "first"), "cell")
    note_cell_run(store, evaluation(store, "first"), "cell-again")
    assert run_of(store, "first") == "cell-again"
    assert run_of(store, "second") == "second"
    assert [path.name for path in store.cell_runs.iterdir()] == ["k"]


def test_without_a_note_mlflow_knows_the_run(store: Store) -> None:
    tracker = Tracker(store)
    cell = tracker.start("digits", "a cell", store.locks / "flow-x", {"stage.evaluate.run_id": "scores"})
    tracker.finish(cell)
    assert run_of(store, "scores") == cell
    assert (store.cell_runs / "k").read_text() == f"scores {cell}"  # noted for the next time
    (store.cell_runs / "k").write_text("damaged")
    assert run_of(store, "scores") == cell
