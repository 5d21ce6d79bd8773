"""Asking a real Prefect server, by its API and by its command."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

TRIES = 5
WAIT_SECONDS = 300  # for an answer of a busy machine
SHOWN = 6


def ask(api: str, path: str, question: dict[str, Any] | None = None) -> Any:
    """An answer of Prefect's API; a server that is busy is asked again, as Prefect's own client does."""
    body = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(f"{api}/{path}", body, {"Content-Type": "application/json"})
    for _ in range(TRIES):
        with suppress(BusyServer):
            return _answer(request)
        time.sleep(2)
    return _answer(request)


class BusyServer(Exception):
    """The server could not get at its database in time."""


def _answer(request: urllib.request.Request) -> Any:
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
            raise BusyServer from error
        raise


def runs_of(api: str, deployment: str, **flow_runs: Any) -> list[dict[str, Any]]:
    """The runs of a deployment that Prefect's filter finds."""
    found: list[dict[str, Any]] = ask(
        api,
        "flow_runs/filter",
        {"deployments": {"name": {"any_": [deployment]}}, "flow_runs": flow_runs},
    )
    return found


def unbroken_runs_of(api: str, deployment: str) -> list[dict[str, Any]]:
    """All runs of a deployment, none of which has failed: nobody need wait for one that has."""
    found = runs_of(api, deployment)
    broken = [run for run in found if run["state_type"] in ("FAILED", "CRASHED", "CANCELLED")]
    assert not broken, histories_of(api, broken)
    return found


def histories_of(api: str, runs: list[dict[str, Any]]) -> str:
    """The states of the first runs with their times, to be read; later ones only wait for the clock."""
    return "\n".join(
        [f"{len(runs)} runs"]
        + [
            f"{run['name']}, due {run['expected_start_time']}: "
            + ", ".join(
                f"{state['name']} {state['timestamp']} {state['message'] or ''}".strip()
                for state in states_of(api, run)
            )
            for run in sorted(runs, key=lambda run: str(run["expected_start_time"]))[:SHOWN]
        ]
    )


def states_of(api: str, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The states that a run went through, oldest first."""
    found = ask(api, f"flow_run_states/?flow_run_id={run['id']}")
    return sorted(found, key=lambda state: str(state["timestamp"]))


def prefect(*arguments: str, **options: Any) -> str:
    """Prefect's own command, as a person types it; what it prints."""
    command = str(Path(sys.executable).with_name("prefect"))
    environment = os.environ | {"COLUMNS": "200"}
    shown: str = subprocess.run(
        [command, "--no-prompt", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        **options,
    ).stdout
    return shown


def trigger_by_api(api: str, deployment: str, **parameters: Any) -> str:
    """Run a deployment as the button on Prefect's page does; the id of the run."""
    number = ask(api, f"deployments/name/reproduce/{deployment}")["id"]
    return str(ask(api, f"deployments/{number}/create_flow_run", {"parameters": parameters})["id"])


def trigger(deployment: str, *parameters: str) -> str:
    """Run a deployment with parameters of its own by Prefect's command; the id of the run."""
    chosen = [part for parameter in parameters for part in ("-p", parameter)]
    shown = prefect("deployment", "run", f"reproduce/{deployment}", *chosen)
    return next(line.split()[-1] for line in shown.splitlines() if "UUID:" in line)
