import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient

from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker


@pytest.fixture
def store(tmp_path: Path, migrated_mlflow: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copy(migrated_mlflow, tmp_path / "mlflow.db")
    return Store(tmp_path).open()


def test_run_that_ends_while_it_is_looked_at_is_not_buried(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of running runs is a moment old when each is judged: one ended since, one is really dead."""
    tracker = Tracker(store)
    ended, dead = (tracker.start("digits", n, store.locks / f"flow-{n}", {}) for n in ("ended", "dead"))
    listed = tracker._running()
    assert len(listed) == 2
    tracker.finish(ended)
    monkeypatch.setattr(tracker, "_running", lambda: listed)
    tracker.bury_dead_runs()
    client = MlflowClient(store.tracking_uri)
    assert client.get_run(ended).info.status == "FINISHED"
    assert client.get_run(dead).info.status == "KILLED"
    assert list(store.locks.glob("flow-*")) == []


def test_runs_of_another_store_are_left_alone(store: Store, tmp_path: Path) -> None:
    """Two stores on one MLflow database: neither judges the other's runs."""
    tracker = Tracker(store)
    theirs = tracker.start("digits", "theirs", store.locks / "flow-theirs", {})
    (tmp_path / "store-id").write_text("another store")
    Tracker(store).bury_dead_runs()
    assert MlflowClient(store.tracking_uri).get_run(theirs).info.status == "RUNNING"


def test_a_database_that_was_being_made_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that is cut off must not leave a file that MLflow refuses for ever."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    store = Store(tmp_path / "fresh").open()
    (store.root / "mlflow.draft").write_bytes(b"cut off")
    assert Tracker(store).client.search_experiments(max_results=1)
    assert (store.root / "mlflow.db").is_file()
    assert not (store.root / "mlflow.draft").exists()
