"""Real processes, really killed."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.servers.session import PROGRAM
from tests.waiting import WAIT_SECONDS, wait_for

STAGES = ("download", "reduce", "train-loggers", "replay")


def wait_for_temporary_folder(process: subprocess.Popen[bytes], store_root: Path, stage: str) -> Path:
    """Return as soon as the stage has begun to write."""
    folder = store_root / "artifacts" / stage
    return wait_for(lambda: list(folder.glob(".*")), process, lambda: f"{stage} never began", pause=0.001)[0]


def servers_below(pid: int) -> int:
    """How many Prefect servers a process has started."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=1) for line in shown.stdout.splitlines()]
    return sum(row[0] == str(pid) and PROGRAM in row[1] for row in rows)


def runs(store_root: Path) -> list[Run]:
    client = MlflowClient(f"sqlite:///{store_root / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("multilogger/wide")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def contents(store_root: Path) -> dict[str, bytes]:
    """Every published file by its path below the store."""
    folder = store_root / "artifacts"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.early
def test_kill_during_each_stage_then_rerun(
    store_root: Path, command: str, wide_options: list[str], wide_settings: dict[str, object],
    new_store: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for stage in STAGES:
        process = subprocess.Popen(
            [command, "prepare", *wide_options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        temporary = wait_for_temporary_folder(process, store_root, stage)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert temporary.exists()
        assert [p.name for p in (store_root / "artifacts" / stage).iterdir()] == [temporary.name]
    last = prepare("wide", settings=wide_settings)
    assert [outcome.status.value for outcome in last.outcomes.values()] == [*["cached"] * 3, "computed"]
    assert not list((store_root / "artifacts").rglob(".*"))
    by_status: dict[str, list[str]] = {}
    for run in runs(store_root):
        by_status.setdefault(run.info.status, []).append(run.data.tags.get("stage", "flow"))
    assert sorted(by_status) == ["FINISHED", "KILLED"]
    assert sorted(by_status["KILLED"]) == sorted([*STAGES, *["flow"] * 4])
    assert sorted(by_status["FINISHED"]) == sorted([*STAGES, "flow"])

    unbroken = new_store("unbroken")
    monkeypatch.setenv("MULTILOGGER_HOME", str(unbroken))
    prepare("wide", settings=wide_settings)
    assert contents(unbroken) == contents(store_root)


@pytest.mark.early
def test_two_processes_do_the_work_once(
    store_root: Path, command: str, wide_options: list[str], wide_settings: dict[str, object]
) -> None:
    """This process begins while the other one is at its first stage."""
    other = subprocess.Popen([command, "prepare", *wide_options], stdout=subprocess.PIPE)
    wait_for_temporary_folder(other, store_root, STAGES[0])
    here = [outcome.status.value for outcome in prepare("wide", settings=wide_settings).outcomes.values()]
    there = other.communicate(timeout=WAIT_SECONDS)[0].decode()
    assert other.returncode == 0
    assert there.count("computed") + here.count("computed") == len(STAGES)
    assert there.count("cached") + here.count("cached") == len(STAGES)
    stages = [run.data.tags["stage"] for run in runs(store_root) if "stage" in run.data.tags]
    assert sorted(stages) == sorted(STAGES)


@pytest.mark.parametrize(
    ("ending", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_ending_is_one_line_and_loses_nothing(
    lone_store: Path, prefect_server: str, command: str, wide_options: list[str],
    wide_settings: dict[str, object], ending: signal.Signals, code: int, word: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    process = subprocess.Popen(
        [command, "prepare", *wide_options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    temporary = wait_for_temporary_folder(process, lone_store, "train-loggers")  # type: ignore[arg-type]
    process.send_signal(signal.SIGSTOP)  # else the stage ends while we look at the list of processes
    assert temporary.exists(), "train-loggers ended before it could be stopped"
    assert servers_below(process.pid) == 1  # a thread that does not know of it would start another
    os.killpg(process.pid, ending)  # as a terminal does: to the flow and to all that it started
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == code
    assert (
        err.strip() == f"multilogger: {word}; finished stages are kept, the same command goes on from there"
    )
    assert not list((lone_store / "artifacts" / "train-loggers").iterdir())
    assert {run.info.status for run in runs(lone_store)} == {"FINISHED", "KILLED"}
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    again = prepare("wide", settings=wide_settings)
    assert [outcome.status.value for outcome in again.outcomes.values()].count("cached") == 2
