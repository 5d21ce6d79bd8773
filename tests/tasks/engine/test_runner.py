"""The same bytes, whichever of Prefect's runners carries the tasks; finished results are found with none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner
from prefect_dask.task_runners import DaskTaskRunner

from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.pipelines.settings import pipeline_settings
from multilogger.flows.pipelines.wiring import PREPARE, prepare_pipeline
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.execution import Surroundings
from multilogger.tasks.engine.runner import Lookup, stage_task
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker

DASK: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
RUNNERS: dict[str, TaskRunner[Any]] = {
    "threads": ThreadPoolTaskRunner(max_workers=2),
    "processes": ProcessPoolTaskRunner(max_workers=1),
    "dask": DaskTaskRunner(cluster_kwargs=DASK),
}


def submit_stages() -> Artifact:
    """Every stage of prepare on digits, submitted to the flow's runner."""
    store = Store.current().open()
    lock = store.locks / "flow-of-this-test"
    run_id = Tracker(store).start("digits", "runners", lock, {})
    surroundings = Surroundings(root=store.root, dataset="digits", seed=0, flow_run_id=run_id)
    made: dict[str, Artifact] = {}
    for name, planned in prepare_pipeline(pipeline_settings(PREPARE, "digits", 0)).items():
        if name != "reduce":  # digits are narrow
            inputs = {
                label: made.get(source.stage.name, made["download"]) for label, source in planned.inputs
            }
            future = stage_task(planned.stage, store).submit(
                planned.stage, planned.settings, inputs, surroundings
            )
            result = future.result()
            assert isinstance(result, Artifact)
            made[name] = result
    return made["replay"]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNNERS)
def test_runner_does_not_change_a_byte(
    name: str, store_root: Path, new_store: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = prepare().outcomes["replay"].artifact
    other = new_store("other")
    monkeypatch.setenv("MULTILOGGER_HOME", str(other))
    submitted = flow(task_runner=RUNNERS[name])(submit_stages)()
    assert submitted.root == other
    assert expected.root == store_root
    assert submitted.digest == expected.digest


def test_finds_what_prefect_would_take_from_its_cache_and_nothing_else(
    store_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = Cell(dataset="digits", method="naive", preset="auto").pipeline()["replay"]  # `prepare` makes that
    store = Store(store_root)
    assert Lookup(store).find(log) is None
    made = prepare().outcomes["replay"].artifact
    found = Lookup(store).find(log)
    assert found == made
    assert Lookup(store).find(Cell(dataset="digits", method="naive").pipeline()["evaluate"]) is None
    assert Lookup(store).find(Cell(dataset="digits", method="naive", seed=1).pipeline()["replay"]) is None

    (made.folder / "summary.json").write_text("{}")
    assert Lookup(store).find(log) is None
    said = [record.message.split(",")[0] for record in caplog.records if record.name == "multilogger"]
    assert said == [f"replay: cached result {made.key[:8]} cannot be used"]
    (store.results / made.key).write_text("not JSON")
    assert Lookup(store).find(log) is None
