"""A reproduction end to end: cells in worker processes, holes, caches, kills."""

import csv
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from multilogger.flows.reproduction.reproduce import Reproduced, reproduce
from multilogger.tasks.engine.store import Store
from tests.waiting import wait_for

QUICK = {"learn.epochs": 2, "learn.checkpoint_every": 1}
TOO_HIGH = {"learn.lambda_floor": 0.6}  # of two loggers; only a weighted learner minds


def small(out: Path, methods: list[str], settings: dict[str, float] | None = None) -> Reproduced:
    """With one worker process: a second one would load its libraries for a single cell."""
    chosen = QUICK | (settings or {})
    return reproduce("table2", ["digits"], methods, 1, out=str(out), settings=chosen, workers=1)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.early
def test_a_failed_cell_does_not_sink_the_rest_and_finished_ones_are_not_run_again(
    store_root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = small(out, ["logger-1", "weighted"], TOO_HIGH)
    assert [cell.method for cell in first.failures] == ["weighted"]
    assert (first.computed, first.reused) == (1, 0)
    assert "lambda_floor can be at most 1/2 for 2 loggers" in first.failures[0].error
    rows = rows_of(out / "table2.csv")
    assert [(row["method"], row["seeds"]) for row in rows] == [("logger-1", "1"), ("weighted", "0")]
    assert "lambda_floor can be at most" in (out / "failed.csv").read_text()

    table = (out / "table2.csv").read_bytes()
    evaluations = sorted((store_root / "artifacts" / "evaluate").iterdir())
    times = [folder.stat().st_mtime_ns for folder in evaluations]
    again = small(out, ["logger-1", "weighted"], TOO_HIGH)
    assert (out / "table2.csv").read_bytes() == table
    assert sorted((store_root / "artifacts" / "evaluate").iterdir()) == evaluations
    assert [folder.stat().st_mtime_ns for folder in evaluations] == times
    assert [cell.method for cell in again.failures] == ["weighted"]
    assert (again.computed, again.reused) == (0, 1)


@pytest.mark.early
def test_a_table_of_one_of_k_actions(store_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    methods, settings = ["logger-2", "dm"], {"learn.epochs": 2, "learn.hidden": [16]}
    done = reproduce("one-of", ["digits-one-of"], methods, 2, out=str(out), settings=settings, workers=1)
    assert done.failures == []
    rows = rows_of(out / "one_of.csv")
    assert [(row["method"], row["exp_seeds"]) for row in rows] == [("logger-2", "2"), ("dm", "2")]
    assert all(0 < float(row["error_mean"]) <= float(row["exp_mean"]) < 1 for row in rows)
    assert rows_of(out / "table1.csv")[0]["actions"] == "one-of"
    assert [(row["method"], row["seeds"]) for row in rows_of(out / "calibration.csv")] == [("dm", "2")]
    page = (out / "report.html").read_text()
    assert "EXP is the expected loss on test: 1 for any action but the right one." in page
    assert "Hamming" not in page
    assert "Loss model has the least EXP" in page
    assert (out / "one-of-digits-one-of.svg").is_file()
    parent = MlflowClient(Store(store_root).tracking_uri).get_run(done.run_id)
    assert parent.info.run_name == "one-of · digits-one-of · 2 seeds"


@pytest.mark.early
def test_presets_side_by_side_and_every_number_leads_to_its_run(store_root: Path, tmp_path: Path) -> None:
    """`naive` is learned twice, `crf` depends on no preset; the parameter of older schedules still works."""
    both, single = tmp_path / "both", tmp_path / "single"
    wanted: dict[str, Any] = {"datasets": ["digits"], "seeds": 1, "settings": QUICK, "workers": 1}
    done = reproduce(methods=["naive", "crf"], presets=["paper", "tuned"], out=str(both), **wanted)
    rows = rows_of(both / "table2.csv")
    shown = [("naive", "paper"), ("naive", "tuned"), ("crf", "tuned")]
    assert [(row["method"], row["preset"]) for row in rows] == shown
    assert rows[0]["exp_mean"] != rows[1]["exp_mean"]
    assert len(list((store_root / "artifacts" / "evaluate").iterdir())) == 3
    client = MlflowClient(Store(store_root).tracking_uri)
    parent = client.get_run(done.run_id)
    assert parent.info.run_name == "table2 · digits · 1 seed"
    assert parent.data.params["preset"] == "paper, tuned"
    assert parent.data.metrics == {"cells": 3.0, "failed_cells": 0.0}
    files = {file.path for file in client.list_artifacts(done.run_id)}
    assert {"table1.csv", "table2.csv", "report.html", "table2-digits.png", "table2-digits.svg"} <= files
    page = (both / "report.html").read_text()
    assert "--preset paper --preset tuned" in page
    for cell in done.reproduction.table2:
        run = client.get_run(cell.page.rsplit("/", 1)[1])
        place = "" if cell.preset == "tuned" else f" · {cell.preset}"
        assert run.info.run_name == f"digits · {cell.method} · seed 0{place}"
        assert (run.data.params["learn.preset"], run.data.metrics["exp"]) == (cell.preset, cell.exp)
        assert cell.page in page
    reproduce(methods=["naive"], preset="paper", out=str(single), **wanted)
    assert rows_of(single / "table2.csv") == rows[:1]


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_to_the_same_bytes(
    store_root: Path, new_store: Callable[[str], Path], tmp_path: Path, command: str
) -> None:
    """Two worker processes, one of them killed, then all; and one process that nobody disturbs."""
    methods, epochs = ["naive", "weighted"], {"learn.epochs": 4}
    undisturbed = tmp_path / "undisturbed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MULTILOGGER_HOME", str(new_store("other")))
        reproduce("table2", ["digits"], methods, 2, out=str(undisturbed), settings=epochs, workers=1)

    arguments = ["reproduce", "table2", "--dataset", "digits", "--seeds", "2"]
    arguments += [part for method in methods for part in ("--method", method)]
    arguments += ["--set", "learn.epochs=4"]
    out = tmp_path / "out"
    process = subprocess.Popen(
        [command, *arguments, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: any((store_root / "artifacts" / "evaluate").glob("[0-9a-f]*")), process)
    workers = _children(process.pid)
    os.kill(workers[0], signal.SIGKILL)  # a worker dies: its cell is lost, and tried again in a new pool
    time.sleep(3)
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(_is_alive(worker) for worker in workers))

    reproduce("table2", ["digits"], methods, 2, out=str(out), settings=epochs, workers=1)
    assert (out / "table2.csv").read_bytes() == (undisturbed / "table2.csv").read_bytes()


def _children(pid: int) -> list[int]:
    """Worker processes: the children that multiprocessing spawned, without its resource tracker."""
    shown = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    lines = [line.split(None, 1) for line in shown.stdout.splitlines()]
    return [int(number) for number, arguments in lines if "multiprocessing.spawn" in arguments]


def _is_alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(shown.stdout.strip()) and not shown.stdout.startswith("Z")
