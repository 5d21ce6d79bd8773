"""Every fault of a set-up is told in one line that says what to do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from multilogger.flows.cluster.diagnoses import WorkerFacts, servers, workers
from multilogger.flows.cluster.facts import Facts, facts
from multilogger.tasks.engine.store import Store

PREFECT, MLFLOW = "http://127.0.0.1:9/api", "http://user:secret@127.0.0.1:9"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Facts:
    """This process, with servers that are said to answer."""
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", MLFLOW)
    return replace(facts(PREFECT), prefect=None, mlflow=None)


def wrong(here: Facts, seconds_off: float = 0.0, **changed: Any) -> list[str]:
    """The faults of a worker that differs from us in some facts."""
    said = {"tcp://w:1": WorkerFacts(replace(here, **changed), seconds_off)}
    return [f.text for f in workers(said, here, PREFECT, Store.current()) if f.wrong]


def test_a_worker_as_we_are_is_well(here: Facts) -> None:
    assert wrong(here) == []
    assert wrong(here, identity="another store", store="/elsewhere") == []
    assert not any(finding.wrong for finding in servers(here, PREFECT, Store.current()))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"versions": "torch"}, ("has other versions: torch 1.0 (here ", "; install those of here")),
        ({"threads": 4}, ("has 4 threads, and cells need one each; start it with 'multilogger worker'", "")),
        (
            {"prefect": "refused"},
            ("does not answer (refused); that address is of one machine alone: start the server", ""),
        ),
        ({"mlflow": "refused"}, ("http://***@127.0.0.1:9 does not answer (refused)", "by its host")),
        ({"unusable": "cannot write to the store"}, ("cannot write to the store", "")),
        ({"free_bytes": 5}, ("0.0 GiB are free; make room", "MULTILOGGER_HOME")),
        ({"seconds_off": -9.0}, ("its clock is -9 s from ours; set the clocks", "(NTP)")),
    ],
)
def test_a_fault_is_one_line(here: Facts, changed: dict[str, Any], told: tuple[str, str]) -> None:
    if "versions" in changed:
        changed = {"versions": here.versions | {"torch": "1.0"}}
    (line,) = wrong(here, **changed)
    assert told[0] in line
    assert line.endswith(told[1])
    assert "secret" not in line


def test_stores_apart_need_a_server(here: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    (line,) = wrong(here, identity="another store", store="/elsewhere")
    assert "has a store of its own (/elsewhere) and no way to ours: name an MLflow server" in line


def test_no_workers_and_workers_that_say_nothing(here: Facts) -> None:
    store = Store.current()
    assert "start some with 'multilogger worker" in workers({}, here, PREFECT, store)[0].text
    silent = {"tcp://w:1": WorkerFacts(None, error=ModuleNotFoundError("No module named 'multilogger'"))}
    assert (
        "(No module named 'multilogger'); install the same" in workers(silent, here, PREFECT, store)[1].text
    )


def test_servers_that_do_not_answer(here: Facts) -> None:
    found = servers(replace(here, prefect="refused", mlflow="refused"), PREFECT, Store.current())
    assert [finding.wrong for finding in found] == [True, True, False]
    assert "start it with 'mlflow server', or name another with MLFLOW_TRACKING_URI" in found[1].text
