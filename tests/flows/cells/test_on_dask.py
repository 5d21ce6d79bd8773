"""Cells on a Dask cluster of this machine: the bytes of worker processes, and nothing left behind."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from multilogger.flows.reproduction.reproduce import Reproduced, reproduce
from multilogger.tasks.engine.store import Store
from tests.waiting import WAIT_SECONDS, wait_for

METHODS = ["logger-1", "naive", "weighted"]
QUICK = {"learn.epochs": 2}
ONE_FAILS = QUICK | {"learn.lambda_floor": 0.6}  # of two loggers; only a weighted learner minds
FILES = ("table1.csv", "table2.csv", "failed.csv", "table2-digits.svg")


def small(out: Path, runner: str, settings: dict[str, float], workers: int = 2) -> Reproduced:
    chosen: dict[str, Any] = {"settings": settings, "workers": workers, "runner": runner, "out": str(out)}
    done: Reproduced = reproduce("table2", ["digits"], METHODS, 1, **chosen)
    return done


def stage_runs(store: Path, status: str) -> Counter[tuple[str, str]]:
    """How often each result was computed."""
    client = MlflowClient(Store(store).tracking_uri)
    experiment = client.get_experiment_by_name("multilogger/digits")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], f"attributes.status = '{status}'")
    return Counter((r.data.tags["stage"], r.data.tags["key"]) for r in runs if "key" in r.data.tags)


@pytest.mark.early
def test_same_bytes_failures_and_reasons_and_every_shared_stage_once(
    store_root: Path, new_store: Callable[[str], Path], tmp_path: Path
) -> None:
    processes, dask = tmp_path / "processes", tmp_path / "dask"
    with pytest.MonkeyPatch.context() as patch:
        other = new_store("other")
        patch.setenv("MULTILOGGER_HOME", str(other))
        patch.setenv("MLFLOW_TRACKING_URI", Store(other).tracking_uri)  # MLflow would set it for good
        small(processes, "process", ONE_FAILS, workers=1)
    in_the_way = store_root / "artifacts" / "replay"
    in_the_way.parent.mkdir()
    in_the_way.write_text("no folder")
    sunk = small(dask, "dask", ONE_FAILS)  # a shared stage that fails is why all of its cells do
    reason = f"FileExistsError: [Errno 17] File exists: '{in_the_way}'"
    assert [cell.error for cell in sunk.failures] == [reason] * len(METHODS)

    in_the_way.unlink()
    done = small(dask, "dask", ONE_FAILS)
    assert (done.computed, [cell.method for cell in done.failures]) == (2, ["weighted"])
    for name in FILES:
        assert (dask / name).read_bytes() == (processes / name).read_bytes()
    computed = stage_runs(store_root, "FINISHED")
    assert set(computed.values()) == {1}
    stages = Counter(stage for stage, _ in computed)
    assert (stages["train-loggers"], stages["replay"], stages["evaluate"]) == (1, 1, 2)


@pytest.mark.early
def test_ctrl_c_stops_the_cells_marks_their_runs_and_leaves_no_process(
    store_root: Path, tmp_path: Path, command: str
) -> None:
    """It reaches every process of a terminal."""
    arguments = ["reproduce", "table2", "--dataset", "digits", "--seeds", "2", "--method", "naive"]
    arguments += ["--set", "learn.epochs=100000", "--runner", "dask", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [command, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    learning = store_root / "artifacts" / "learn"
    wait_for(lambda: len(list(learning.glob(".*"))) == 2, process)
    assert len(session_of(process.pid)) >= 3
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=WAIT_SECONDS)
    wait_for(lambda: not session_of(process.pid), shown=lambda: session_of(process.pid))
    assert process.returncode == 130
    line = "multilogger: interrupted; finished stages are kept, the same command goes on from there"
    assert told.splitlines() == [line]
    assert not list(learning.iterdir())
    client = MlflowClient(Store(store_root).tracking_uri)
    experiment = client.get_experiment_by_name("multilogger/digits")
    assert experiment is not None
    ended = Counter(run.info.status for run in client.search_runs([experiment.experiment_id]))
    assert ended == {"KILLED": 4, "FINISHED": 6}


def session_of(leader: int) -> list[str]:
    """The processes that a process has started, and itself."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "sid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return [row[-1] for row in rows if row[0] == str(leader) and not row[1].startswith("Z")]
