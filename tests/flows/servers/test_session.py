"""The server that a command starts for itself."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.servers import session
from multilogger.flows.servers.local_server import LOOPBACK, LocalServer, answers
from multilogger.flows.servers.prefect_database import _reason
from multilogger.tasks.engine.store import Store
from tests.waiting import free_port

FAILING = [sys.executable, "-c", "import sys; sys.exit(3)"]


@pytest.fixture
def started(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[list[LocalServer]]:
    """What is started in place of Prefect: as many as the test says end at once."""
    servers: list[LocalServer] = []

    def start(store: Store, port: int) -> LocalServer:
        program = [sys.executable, "-m", "http.server", str(port), "--bind", LOOPBACK]
        command = FAILING if len(servers) < request.param else program
        servers.append(LocalServer(store, "ephemeral", command, f"http://{LOOPBACK}:{port}", "/"))
        return servers[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "_start", start)
    yield servers
    if servers[-1].process.poll() is None:
        servers[-1].end()


@pytest.mark.parametrize(("started", "starts"), [(0, 1), (2, 3)], indirect=["started"])
def test_a_server_that_ends_at_its_start_is_started_again(
    started: list[LocalServer], starts: int, tmp_path: Path
) -> None:
    port, store = free_port(), Store(tmp_path).open()
    session._wait(store, session._start(store, port), port)
    assert len(started) == starts
    assert answers(f"http://{LOOPBACK}:{port}/")


@pytest.mark.parametrize("started", [99], indirect=True)
def test_one_that_never_starts_is_said(started: list[LocalServer], tmp_path: Path) -> None:
    port, store = free_port(), Store(tmp_path).open()
    with pytest.raises(BadInput, match="ephemeral stopped with exit code 3"):
        session._wait(store, session._start(store, port), port)
    assert len(started) == session.STARTS


def test_the_reason_is_the_error_and_not_the_link_behind_it() -> None:
    shown = (
        'Traceback (most recent call last):\n  File "x.py", line 1\n'
        "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) database or disk is full\n"
        "[SQL: PRAGMA x]\n(Background on this error at: https://sqlalche.me/e/20/e3q8)\n"
    )
    assert _reason(shown).endswith("database or disk is full")
    assert _reason("") == "it does not say why"
