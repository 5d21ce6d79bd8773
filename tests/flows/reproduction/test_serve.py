"""Schedules on a real server: by the clock, by hand, and one at a time."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.pipelines.learn import learn
from multilogger.flows.reproduction.plan import check_plan
from multilogger.flows.reproduction.reproduce import reproduce
from multilogger.flows.reproduction.scope import from_any_folder, reproduce_parameters
from multilogger.flows.reproduction.serve import checked_schedule
from tests.flows.reproduction.prefect_api import (
    ask,
    histories_of,
    runs_of,
    states_of,
    trigger,
    trigger_by_api,
    unbroken_runs_of,
)
from tests.waiting import WAIT_SECONDS, wait_for

Cli = Callable[..., subprocess.CompletedProcess[str]]
CHEAP = ["table2", "--dataset", "digits", "--method", "crf", "--seeds", "1", "--workers", "1"]
# A run is due soon after the runner is ready, whenever that is: a date that is chosen before may have passed.
# Not every minute: on a busy machine, runs would come faster than they end.
OFTEN = "*/2 * * * *"


@contextmanager
def serving(command: str, name: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`multilogger serve`, from the moment at which it says how to be triggered."""
    process = subprocess.Popen(
        [command, "serve", "--name", name, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PREFECT_RUNNER_POLL_FREQUENCY": "1", "PREFECT_LOGGING_LEVEL": "CRITICAL"},
    )
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while not lines or not lines[-1].startswith("Ctrl-C"):
            line = process.stdout.readline()
            assert line, lines
            lines.append(line)
        assert f"           prefect deployment run 'reproduce/{name}' -p seeds=2\n" in lines
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=WAIT_SECONDS)


def descendants(root: int) -> list[str]:
    """The processes below one, children of children too."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    found: dict[str, str] = {str(root): ""}
    for _ in rows:
        more = {row[0]: row[2] for row in rows if row[1] in found and row[0] not in found}
        if not more:
            break
        found |= more
    return [pid for pid in found if pid != str(root)]


def still_there(pids: list[str]) -> list[str]:
    shown = subprocess.run(
        ["ps", "-o", "stat=,args=", "-p", ",".join(pids)], capture_output=True, text=True, check=False
    )
    return [line for line in shown.stdout.splitlines() if not line.startswith("Z")]


@pytest.mark.slow
def test_runs_by_the_clock_and_by_hand_one_at_a_time(
    command: str, typed: Cli, store_root: Path, prefect_server: str, tmp_path: Path
) -> None:
    for seed in (0, 1):
        learn("digits", "crf", seed)  # one run has something to compute, the others are quick
    out = ["--out", str(tmp_path / "out")]
    with serving(command, "clock", *CHEAP, *out, "--cron", OFTEN) as process:
        again = typed("serve", "--name", "clock", *CHEAP)
        assert (again.returncode, again.stderr.count("\n")) == (2, 1)
        assert "reproduce/clock is being served already" in again.stderr

        first = trigger("clock", "seeds=2")
        # two at the same moment: one of them has to wait, however fast a run is
        second, third = (trigger_by_api(prefect_server, "clock", methods=["logger-1"]) for _ in range(2))

        def all_done() -> list[dict[str, Any]]:
            done = [r for r in unbroken_runs_of(prefect_server, "clock") if r["state_type"] == "COMPLETED"]
            by_hand = [run for run in done if run["id"] in (first, second, third)]
            by_clock = [run for run in done if run["auto_scheduled"]]
            return [*by_hand, *by_clock] if len(by_hand) == 3 and by_clock else []

        def came() -> str:
            return histories_of(prefect_server, runs_of(prefect_server, "clock"))

        done = wait_for(all_done, process, came)
        by_id = {run["id"]: run for run in done}
        assert by_id[first]["parameters"]["seeds"] == 2
        assert by_id[second]["parameters"]["methods"] == ["logger-1"]
        assert next(run for run in done if run["auto_scheduled"])["parameters"]["seeds"] == 1

        waited = {state["name"] for run in done for state in states_of(prefect_server, run)}
        assert "AwaitingConcurrencySlot" in waited
        spans = sorted((run["start_time"], run["end_time"]) for run in done)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))

        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0
    assert started
    assert not still_there(started)
    served = ask(prefect_server, "deployments/name/reproduce/clock")
    assert served["paused"]
    assert not list((store_root / "locks").glob("server-*"))


@pytest.mark.slow
def test_stopping_ends_the_run_in_progress(
    command: str, store_root: Path, prefect_server: str, tmp_path: Path
) -> None:
    """A long run, terminated with the command that served it: marked, and nothing is left of it."""
    long = ["table2", "--dataset", "digits", "--method", "wcrm", "--seeds", "20", "--cron", "0 0 1 1 *"]
    with serving(command, "long", *long, "--workers", "1", "--out", str(tmp_path / "out")) as process:
        run = trigger_by_api(prefect_server, "long")

        def working() -> list[str]:
            unbroken_runs_of(prefect_server, "long")
            found = descendants(process.pid)
            return found if list((store_root / "artifacts").glob("replay/*")) else []

        started = wait_for(working, process)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
    assert not still_there(started)

    def marked() -> bool:
        return ask(prefect_server, f"flow_runs/{run}")["state"]["type"] in ("CRASHED", "CANCELLED")

    wait_for(marked)  # the server may write it down after the process has gone


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"cron": "61 * * * *"},
            "bad --cron '61 * * * *': give minute hour day month weekday, such as '0 2 * * *'",
        ),
        (
            {"timezone": "Mars/Base"},
            "bad --timezone 'Mars/Base': give a name of the tz database, such as Europe/Berlin",
        ),
        (
            {"name": "a/b"},
            "bad --name 'a/b': use letters, digits, '-', '_' and '.', a letter or digit first and last, "
            "60 at most",
        ),
    ],
)
def test_bad_schedules(given: dict[str, str], message: str) -> None:
    good = {"name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}
    assert checked_schedule(**good, parameters={"seeds": 2}).full_name == "reproduce/nightly"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        checked_schedule(**(good | given), parameters={})


def parameters(target: str = "table2", dataset: str = "digits", mirror: str | None = None) -> dict[str, Any]:
    typed = reproduce_parameters(
        target, [dataset], None, 3, ["tuned"], mirror, Path("out"), ["tau=2"], RunnerChoice(1)
    )
    check_plan(typed)
    return from_any_folder(typed)


def test_parameters_are_the_flow_s_with_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parameters(mirror="https://example.org/data")["mirror"] == "https://example.org/data"
    assert parameters(mirror="mirror")["mirror"] == str(tmp_path / "mirror")
    found = parameters()
    assert (found["out"], found["settings"]) == (str(tmp_path / "out"), {"learn.tau": 2})
    reproduce.validate_parameters(found)


@pytest.mark.parametrize(
    ("target", "dataset", "message"),
    [("figure9", "digits", "unknown target 'figure9'"), ("table2", "mnist", "unknown dataset 'mnist'")],
)
def test_bad_parameters(target: str, dataset: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parameters(target, dataset)


def test_a_schedule_needs_a_server(typed: Cli, store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL")
    failed = typed("serve", *CHEAP)
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert "start one with 'multilogger up'" in failed.stderr
    assert store_root.is_dir()
