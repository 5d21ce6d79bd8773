"""The console script as a user types it."""

import errno
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.cli import app
from multilogger.flows.cli.options import own_files
from multilogger.flows.pipelines.learn import learn
from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.terminal.errors import explain, one_line_usage
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.registry import STAGES
from tests.flows.pipelines.test_killing import servers_below
from tests.waiting import free_port, wait_for

Cli = Callable[..., subprocess.CompletedProcess[str]]


def test_help_names_every_command(cli: Cli) -> None:
    shown = cli("--help")
    assert shown.returncode == 0
    for command in ("datasets", "stages", "prepare", "stage", "evaluate", "ui"):
        assert command in shown.stdout


def test_help_imports_nothing_heavy(command: str) -> None:
    script = Path(command).with_name("python")
    code = (
        "import sys; from multilogger.flows import cli; "
        "print(sorted({'prefect', 'mlflow', 'torch', 'sklearn', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([script, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "[]"
    )


def test_version(cli: Cli) -> None:
    shown = cli("--version")
    assert (shown.returncode, shown.stdout[:14]) == (0, "multilogger 0.")


def test_datasets_and_stages_are_listed(typed: Cli) -> None:
    listed = typed("datasets").stdout
    assert all(
        name in listed
        for name in ("digits", "scene", "yeast", "tmc", "tmc500", "30,438", "14 labels", "one of 6")
    )
    stages = typed("stages")
    assert stages.returncode == 0
    assert all(f"\n{name}: " in f"\n{stages.stdout}" for name in STAGES)
    words = " ".join(stages.stdout.split())  # a table breaks lines where it must
    assert all(
        name in words
        for name in ("crf_C", "split_by", "passes over the log in an epoch; 'paper' has 10", "eta")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare", "--dataset", "mnist"], "unknown dataset 'mnist'; choose one of digits"),
        (["prepare", "--set", "C=-1"], "bad setting train-loggers.C"),
        (["prepare", "--dataset", "mine", "--features", "3"], "your own files need all of --train"),
        (
            ["learn", "--method", "additive", "--dataset", "digits-one-of"],
            "additive is not for one-of actions, which digits-one-of has; choose one of wcrm, naive",
        ),
        (["stage", "polish"], "unknown stage 'polish'; choose one of download"),
        (["stage", "replay", "--set", "passes=0"], "bad setting replay.passes"),
        (
            ["learn", "--method", "naive", "--set", "tau=2"],
            "tau: naive does not read it (read by naive-reg, weighted-reg, balanced-reg); leave it out",
        ),
        (["stage", "learn", "--method", "crf", "--set", "epochs=2"], "epochs: crf learns nothing"),
        (
            ["learn", "--dataset", "digits", "--logs", "shop.parquet"],
            "--dataset 'digits' is data that is known by name, --logs a log of your own; leave one",
        ),
    ],
)
def test_typing_errors_are_one_line(typed: Cli, store_root: Path, arguments: list[str], message: str) -> None:
    failed = typed(*arguments)
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr.startswith("multilogger: ")
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert not (store_root / "artifacts").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["reproduce", "--seeds", "x"],
            "invalid value for '--seeds': .*integer.* \\(see '.*reproduce --help'\\)",
        ),
        (["learn", "--seed", "-1"], "invalid value for '--seed': .*0"),
        (["evaluate", "--logs", "log"], "missing option '--policy'"),
        (["learn", "--colour", "red"], "no such option: --colour"),
        (["prepar"], "no such command 'prepar'"),
    ],
)
def test_wrong_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stopped, one_line_usage():
        app(arguments, standalone_mode=False)
    shown = capsys.readouterr()
    assert (stopped.value.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert re.match(f"multilogger: {message}", shown.err)


@pytest.mark.parametrize(
    ("labels", "classes", "actions", "message"),
    [
        (3, 3, None, "got --labels 3 and --classes 3: leave one of them out"),
        (None, 3, "labels", "--classes is for --actions one-of, got --actions labels; give --labels"),
        (3, None, "one-of", "--labels is for --actions labels, got --actions one-of; give --classes"),
    ],
)
def test_own_files_are_of_one_kind(
    labels: int | None, classes: int | None, actions: str | None, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        own_files(None, None, None, labels, classes, actions)


def test_classes_alone_say_the_kind_of_actions() -> None:
    assert own_files(None, None, ["4"], None, 3, None) == {
        "download.features": 4,
        "download.labels": 3,
        "download.actions": "one-of",
    }
    assert "download.actions" not in own_files(None, None, ["4"], 3, None, None)


def test_no_command_shows_the_help_alone(cli: Cli) -> None:
    shown = cli()
    assert (shown.returncode, shown.stderr) == (2, "")
    assert "reproduce" in shown.stdout


def test_missing_mirror_file_is_one_line(typed: Cli, store_root: Path, tmp_path: Path) -> None:
    failed = typed("prepare", "--dataset", "yeast", MULTILOGGER_MIRROR=str(tmp_path))
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "the mirror has no file" in failed.stderr
    assert store_root.is_dir()


def test_debug_shows_the_traceback_before_the_line(cli: Cli) -> None:
    failed = cli("--debug", "prepare", "--set", "C=-1")
    assert failed.returncode == 2
    assert failed.stderr.startswith("Traceback")
    assert failed.stderr.splitlines()[-1].startswith("multilogger: bad setting train-loggers.C")


def test_unwritable_store_is_one_line(typed: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    failed = typed("prepare", MULTILOGGER_HOME=str(tmp_path / "file" / "store"))
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "choose another folder with MULTILOGGER_HOME" in failed.stderr


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"PREFECT_API_URL": "http://127.0.0.1:9/api"}, "no Prefect server answers at PREFECT_API_URL"),
        (
            {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"},
            "MLflow's store at http://127.0.0.1:9 does not answer",
        ),
    ],
)
def test_servers_that_are_down_are_said(
    typed: Cli, store_root: Path, variables: dict[str, str], message: str
) -> None:
    failed = typed("prepare", **variables)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
    assert store_root.is_dir()


def test_damaged_databases_are_said(typed: Cli, store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store_root / "mlflow.db").write_text("not a database")
    broken = typed("prepare")
    assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)
    assert "move a damaged database file away" in broken.stderr
    monkeypatch.delenv("PREFECT_API_URL")
    (store_root / "prefect").mkdir(exist_ok=True)
    (store_root / "prefect" / "prefect.db").write_text("not a database, by any means")
    broken = typed("prepare", PREFECT_HOME=str(store_root / "prefect"))
    assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)
    assert "move it away and run again" in broken.stderr


def test_ui_of_an_empty_store_is_refused(typed: Cli, tmp_path: Path) -> None:
    failed = typed("ui", MULTILOGGER_HOME=str(tmp_path / "empty"))
    assert failed.returncode == 2
    assert "has no runs yet" in failed.stderr
    assert not (tmp_path / "empty").exists()


def test_full_disk_is_said_with_its_remedy() -> None:
    """/dev/full gives the kernel's own error; wrapped as deep as a stage would wrap it."""
    try:
        try:
            with Path("/dev/full").open("wb", buffering=0) as full:
                full.write(b"x")
        except OSError as error:
            raise RuntimeError("while writing") from error
    except RuntimeError as wrapped:
        line, code = explain(wrapped)
    assert line.startswith("the disk is full: free some space, or move the store with MULTILOGGER_HOME")
    assert code == 2


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (PermissionError(errno.EACCES, "denied", "/x"), "no permission: mend it, or .* \\(/x\\)", 2),
        (BadInput("two\nlines"), "^two lines$", 2),
        (ZeroDivisionError("oops"), "unexpected ZeroDivisionError: oops; run again with --debug", 1),
    ],
)
def test_explanations(error: Exception, line: str, code: int) -> None:
    text, given = explain(error)
    assert re.search(line, text)
    assert given == code


class PrefectHTTPStatusError(Exception):
    """Of the name that Prefect's has; importing that one takes seconds."""


@pytest.mark.parametrize(
    ("free", "line"),
    [
        (10**9, "^the Prefect server failed: 500; finished stages are kept, the same command goes on"),
        (5000, "^the disk is full: free some space, or move the store with MULTILOGGER_HOME$"),
    ],
)
def test_a_server_that_fails_is_no_fault_of_ours_and_may_lack_room(
    free: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    text, code = explain(PrefectHTTPStatusError("500"))
    assert re.search(line, text)
    assert code == 2


@pytest.mark.parametrize(("code", "ending"), [("INTERNAL_ERROR", 2), ("INVALID_PARAMETER_VALUE", 1)])
def test_an_mlflow_server_that_is_away_is_no_fault_of_ours_and_a_refusal_is(code: str, ending: int) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.protos import databricks_pb2

    error = MlflowException("API request failed:\nrefused", getattr(databricks_pb2, code))
    text, given = explain(error)
    assert given == ending
    assert "\n" not in text
    assert text.startswith("the MLflow server failed: API request failed") == (ending == 2)


def test_stage_says_its_inputs_and_where_the_result_is(typed: Cli, store_root: Path) -> None:
    prepare()
    done = typed("stage", "replay", "--set", "passes=1,2")
    assert done.returncode == 0, done.stderr
    assert "Inputs" in done.stdout
    assert "artifacts/train-loggers/" in done.stdout
    assert "artifacts/replay/" in done.stdout
    assert re.search(r"^Computed    1 stage, 1 from the cache, in \d+ s$", done.stdout, re.MULTILINE)
    run_id = next(line.split()[-1] for line in done.stdout.splitlines() if line.startswith("MLflow run"))
    assert (store_root / "mlflow-artifacts" / "digits" / run_id / "artifacts" / "summary.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "first", "second"),
    [
        (["prepare"], "3 stages, 0 from", "0 stages, 3 from"),
        (["learn", "--method", "logger-1"], "6 stages, 0 from", "0 stages, 6 from"),
    ],
)
def test_a_pipe_hears_what_was_computed_and_what_was_not(
    typed: Cli, store_root: Path, arguments: list[str], first: str, second: str
) -> None:
    for expected in (first, second):
        shown = typed(*arguments).stdout.splitlines()
        line = shown.index(f"Store       {store_root}") - 1
        assert re.fullmatch(rf"Computed    {expected} the cache, in \d+ s", shown[line])


@pytest.mark.usefixtures("store_root")
@pytest.mark.early
def test_a_pipe_hears_how_many_cells_were_computed(typed: Cli, tmp_path: Path) -> None:
    """One cell is there already: `learn` has made it."""
    learn("digits", "logger-1", preset="tuned")
    arguments = ["reproduce", "table2", "--dataset", "digits", "--seeds", "1", "--workers", "1"]
    arguments += ["--out", str(tmp_path / "out"), "--method", "logger-1", "--method", "logger-2"]
    done = typed(*arguments)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Computed    1 cell, 1 from the cache, in \d+ s$", done.stdout, re.MULTILINE)


@pytest.mark.early
def test_ephemeral_server_by_default(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server, no database, no network: what `make run` does on a fresh machine."""
    monkeypatch.delenv("PREFECT_API_URL")
    monkeypatch.delenv("PREFECT_HOME")
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path / "store"))
    process = subprocess.Popen(
        [command, "prepare"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    servers = {0}

    def ended() -> bool:
        servers.add(servers_below(process.pid))
        return process.poll() is not None

    wait_for(ended, pause=0.5)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert servers == {0, 1}
    assert out.count("computed") == 3
    assert "multilogger ui" in out
    assert (tmp_path / "store" / "prefect" / "prefect.db").is_file()


def test_ui_serves_this_store_and_stops_on_interrupt(typed: Cli, command: str, store_root: Path) -> None:
    Tracker(Store(store_root).open()).experiment("digits")
    port = free_port()
    process = subprocess.Popen([command, "ui", "--port", str(port)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        url = f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/get-by-name?experiment_name=multilogger%2Fdigits"
        with urllib.request.urlopen(url, timeout=300) as answer:
            assert b"multilogger/digits" in answer.read()
        busy = typed("ui", "--port", str(port))
        assert (busy.returncode, busy.stderr) == (
            2,
            f"multilogger: port {port} is in use; choose another with --port\n",
        )
    finally:
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=300)
    assert rest.strip() == "Stopped"
    assert process.returncode == 0
