import os
import shutil
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient
from pydantic import ValidationError

from multilogger.components.errors import BadInput
from multilogger.flows.environment import set_defaults
from multilogger.flows.servers.up import serve_mlflow
from multilogger.tasks.download import DownloadSettings
from multilogger.tasks.engine import empty_databases
from multilogger.tasks.engine.execution import Surroundings
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.waiting import free_port


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
    monkeypatch.setattr(empty_databases, "FOLDER", tmp_path / "kept")
    store = Store(tmp_path / "fresh").open()
    (store.root / "mlflow.draft").write_bytes(b"cut off")
    assert Tracker(store).client.search_experiments(max_results=1)
    assert (store.root / "mlflow.db").is_file()
    assert not (store.root / "mlflow.draft").exists()


@pytest.mark.parametrize("name", ["../../outside", "/etc/multilogger", "x" * 300])
def test_no_experiment_has_its_files_outside_of_the_store(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="the name of a dataset has"):
        Tracker(store).experiment(name)
    with pytest.raises(ValidationError, match="the name of a dataset or log has"):
        Surroundings(root=store.root, dataset=name, seed=0, flow_run_id="x")
    with pytest.raises(ValidationError, match="the name of a dataset or log has"):
        DownloadSettings(dataset=name)
    with pytest.raises(ValidationError, match="the name of a dataset or log has"):
        ImportLogSettings(dataset=name)


def test_user_without_a_name_is_called_by_the_number(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that was started with any number for a user."""
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 12345678)
    run = Tracker(store).start("digits", "run", store.locks / "flow-x", {})
    assert MlflowClient(store.tracking_uri).get_run(run).data.tags["mlflow.user"] == "12345678"


def test_user_without_a_home_has_the_store_for_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("PREFECT_HOME", "kept")
    monkeypatch.setenv("MULTILOGGER_HOME", str(store.root))
    monkeypatch.setattr("os.getuid", lambda: 12345678)
    set_defaults()
    assert (os.environ["HOME"], os.environ["PREFECT_HOME"]) == (str(store.root), "kept")


@pytest.mark.parametrize(
    ("address", "extra"), [("postgresql+psycopg2://u:p@h/d", "postgres"), ("mysql+pymysql://h/d", "mysql")]
)
def test_missing_driver_is_said_with_the_extra_that_has_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, address: str, extra: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setitem(sys.modules, address.partition("+")[2].partition(":")[0], None)
    with pytest.raises(BadInput, match=rf"is missing: pip install 'multilogger\[{extra}\]'"):
        Tracker(store)
    (store.root / "mlflow.db").touch()  # runs that 'ui' could show
    with pytest.raises(BadInput, match=rf"is missing: pip install 'multilogger\[{extra}\]'"):
        serve_mlflow(free_port())
