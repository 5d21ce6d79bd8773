"""User and password of an address go where the library looks for them, and nowhere else."""

import base64
import http.server
import logging
import os
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.environment import LOGINS, hide_logins
from multilogger.flows.servers import local_server
from multilogger.flows.servers.local_server import complaint, start_mlflow
from multilogger.tasks.engine.store import Store
from tests.conftest import PREFECT_HOME, Cli

PASSWORD = "geheim-7f3a"


class LockedMirror(http.server.BaseHTTPRequestHandler):
    """Has no file, and says so to those who know the password alone."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        LockedMirror.seen.append(self.headers.get("Authorization", ""))
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def locked_mirror() -> Iterator[str]:
    LockedMirror.seen.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), LockedMirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test puts into the environment."""
    for name in (*LOGINS, *(variable for variables in LOGINS.values() for variable in variables)):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def files_with(secret: bytes, *folders: Path) -> list[Path]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret in path.read_bytes()]


def test_password_of_a_mirror_is_used_and_kept_nowhere(
    typed: Cli, store_root: Path, locked_mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the message nor MLflow, Prefect, keys and files of the store show it."""
    monkeypatch.setattr("multilogger.components.datasets.fetch.ATTEMPTS", 1)
    done = typed("prepare", "--dataset", "scene", "--mirror", f"http://anna:{PASSWORD}@{locked_mirror}")
    assert done.returncode == 2
    assert f"could not fetch http://{locked_mirror}/multilabel/scene_train.bz2" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert LockedMirror.seen[0] == "Basic " + base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
    assert not files_with(PASSWORD.encode(), store_root, PREFECT_HOME)
    assert files_with(locked_mirror.encode(), store_root)  # the address itself is recorded


def test_password_among_settings_is_refused(typed: Cli, store_root: Path) -> None:
    done = typed("prepare", "--dataset", "scene", "--set", f"download.mirror=http://anna:{PASSWORD}@host/")
    assert done.returncode == 2
    assert "MULTILOGGER_MIRROR_LOGIN=user:password" in done.stderr
    assert PASSWORD not in done.stderr
    assert not files_with(PASSWORD.encode(), store_root, PREFECT_HOME)


def test_logins_move_to_the_variables_of_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "https://u:p%40ss@prefect:4200/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://u:p@mlflow/")
    monkeypatch.setenv("MULTILOGGER_MIRROR", "https://u:p@mirror/x")
    hide_logins()
    assert os.environ["PREFECT_API_URL"] == "https://prefect:4200/api"
    assert os.environ["PREFECT_API_AUTH_STRING"] == "u:p@ss"
    assert os.environ["MLFLOW_TRACKING_URI"] == "https://mlflow/"
    assert (os.environ["MLFLOW_TRACKING_USERNAME"], os.environ["MLFLOW_TRACKING_PASSWORD"]) == ("u", "p")
    assert (os.environ["MULTILOGGER_MIRROR"], os.environ["MULTILOGGER_MIRROR_LOGIN"]) == (
        "https://mirror/x",
        "u:p",
    )


@pytest.mark.parametrize(
    "named",
    [
        {"PREFECT_API_URL": f"http://u:{PASSWORD}@127.0.0.1:9/api"},
        {"MLFLOW_TRACKING_URI": f"http://u:{PASSWORD}@127.0.0.1:9"},
        {"MLFLOW_TRACKING_URI": f"postgresql+psycopg2://u:{PASSWORD}@127.0.0.1:9/x"},
        {"MLFLOW_TRACKING_URI": f"nonsense://u:{PASSWORD}@127.0.0.1:9/x"},
    ],
)
def test_servers_that_do_not_answer_are_told_without_their_password(
    typed: Cli, store_root: Path, prefect_server: str, named: dict[str, str]
) -> None:
    variables = {"PREFECT_API_URL": prefect_server, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", **named}
    done = typed("prepare", "--dataset", "digits", **variables)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert PASSWORD not in done.stderr
    assert not files_with(PASSWORD.encode(), store_root, PREFECT_HOME)
    if "postgresql" in done.stderr and find_spec("psycopg2") is None:
        assert "pip install 'multilogger[postgres]'" in done.stderr


def test_password_of_a_database_is_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    class NotStarted:
        def __init__(self, *values: object) -> None:
            command, environment = values[2], values[-1]
            assert isinstance(command, list)
            assert isinstance(environment, dict)
            started.append((command, environment))

    monkeypatch.setattr(local_server, "LocalServer", NotStarted)
    address = f"postgresql://u:{PASSWORD}@db/runs"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    start_mlflow(Store(tmp_path), 5000)
    ((command, environment),) = started
    assert PASSWORD not in " ".join(command)
    assert environment["MLFLOW_BACKEND_STORE_URI"] == address


def test_log_records_show_no_login_of_the_errors_behind_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """Prefect keeps the records of a flow, and makes them some time after the flow has failed."""
    address = f"nonsense://u:{PASSWORD}@host/x"
    try:
        try:
            raise OSError(f"cannot open {address}")
        except OSError as cause:
            raise BadInput(f"{address} does not answer") from cause
    except BadInput:
        logging.getLogger("a-library").exception("failed at %s", address)
    (record,) = caplog.records
    text = logging.Formatter("%(message)s").format(record)
    assert PASSWORD not in text
    assert text.count("nonsense://***@host/x") == 3


def test_complaint_shows_no_login() -> None:
    found = complaint(f"http://u:{PASSWORD}@127.0.0.1:9/api")
    assert found is not None
    assert PASSWORD not in found
