"""`multilogger up`, as real processes on a store of their own."""

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from multilogger.flows.servers.local_server import (
    API_VARIABLE,
    RunningServers,
    announced,
    running_servers,
    up_lock,
)
from multilogger.flows.servers.session import running_server
from multilogger.tasks.engine.store import Store
from tests.waiting import WAIT_SECONDS, free_port, wait_for

Cli = Callable[..., subprocess.CompletedProcess[str]]


def processes_of(*ports: int) -> list[str]:
    """Every process whose command names one of the ports."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    return [line for line in shown.stdout.splitlines() if any(f"-port {p}" in line for p in ports)]


@contextmanager
def up(command: str, ports: tuple[int, int]) -> Iterator[subprocess.Popen[str]]:
    """`multilogger up` when both of its servers answer."""
    options = ["--prefect-port", str(ports[0]), "--mlflow-port", str(ports[1])]
    process = subprocess.Popen(
        [command, "up", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        assert f"http://127.0.0.1:{ports[0]} " in lines[1], lines
        assert f"http://127.0.0.1:{ports[1]}\n" in lines[2]
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=WAIT_SECONDS)


@pytest.mark.slow
def test_killed_it_leaves_servers_that_the_next_one_ends_and_later_commands_use_that_one(
    command: str, typed: Cli, lone_store: Path
) -> None:
    ports = (free_port(), free_port())
    api = f"http://127.0.0.1:{ports[0]}"
    store = Store(lone_store)
    with up(command, ports) as process:
        process.kill()
        process.wait()
        assert len(processes_of(*ports)) >= 2
        assert (lone_store / "up.json").exists()
        assert running_server(store) is None
    with up(command, ports) as process:  # the same ports: the orphans are gone
        assert running_server(store) == f"{api}/api"
        settings = json.load(urllib.request.urlopen(f"{api}/ui-settings", timeout=WAIT_SECONDS))
        assert settings["api_url"] == f"{api}/api"

        second = typed("up")
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert f"runs on the store {lone_store} already (Prefect at {api}/api" in second.stderr
        assert f"MLflow is at http://127.0.0.1:{ports[1]} already" in typed("ui").stderr

        ephemeral: list[Path] = []
        done = subprocess.Popen([command, "prepare"], stdout=subprocess.PIPE, text=True)

        def ended() -> bool:
            ephemeral.extend((lone_store / "locks").glob("server-ephemeral-*"))
            return done.poll() is not None

        wait_for(ended, pause=0.05)
        output, _ = done.communicate()
        assert done.returncode == 0
        assert not ephemeral
        assert f"http://127.0.0.1:{ports[1]}" in output
        asked = urllib.request.Request(
            f"{api}/api/flow_runs/filter", b"{}", {"Content-Type": "application/json"}
        )
        newest = max(
            json.load(urllib.request.urlopen(asked, timeout=WAIT_SECONDS)), key=lambda run: run["created"]
        )
        assert (newest["name"], newest["state_type"]) == ("prepare digits seed 0", "COMPLETED")

        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0
    assert not processes_of(*ports)
    assert not (lone_store / "up.json").exists()
    assert not list((lone_store / "locks").glob("server-*"))


def test_busy_ports_and_dead_servers_are_one_line(typed: Cli, lone_store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        busy = typed("up", "--prefect-port", str(port))
        assert (busy.returncode, busy.stderr) == (
            2,
            f"multilogger: port {port} is in use; choose another with --prefect-port\n",
        )
    dead = typed("up", **{API_VARIABLE: "http://127.0.0.1:9/api"})
    assert (dead.returncode, dead.stderr.count("\n")) == (2, 1)
    assert "no Prefect server answers at PREFECT_API_URL=http://127.0.0.1:9/api" in dead.stderr
    assert not list((lone_store / "locks").glob("server-*"))


def test_addresses_are_believed_only_under_the_lock(lone_store: Path, prefect_server: str) -> None:
    store = Store(lone_store).open()
    servers = RunningServers(prefect_server, None)
    with announced(store, servers):
        assert running_servers(store) is None
        with up_lock(store):
            assert running_servers(store) == servers
            assert running_server(store) == prefect_server
            (lone_store / "up.json").write_text('{"pref')
            assert running_servers(store) is None
    with up_lock(store), announced(store, RunningServers("http://127.0.0.1:9/api", None)):
        assert running_server(store) is None
