"""`prefect.yaml` as docs/pages/how-to/schedule.md says: a work pool, its deployments, a worker."""

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.flows.reproduction.prefect_api import ask, prefect, trigger_by_api


@pytest.mark.slow
def test_a_worker_runs_a_deployment_of_prefect_yaml(
    store_root: Path, prefect_server: str, tmp_path: Path
) -> None:
    ask(prefect_server, "work_pools/", {"name": "multilogger", "type": "process"})
    prefect("deploy", "--all", cwd=REPOSITORY)
    nightly = ask(prefect_server, "deployments/name/reproduce/nightly-yeast")
    weekly = ask(prefect_server, "deployments/name/reproduce/weekly-all")
    for deployment, cron in ((nightly, "0 2 * * *"), (weekly, "0 4 * * 6")):
        assert [(s["schedule"]["cron"], s["active"]) for s in deployment["schedules"]] == [(cron, True)]
        assert deployment["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        assert deployment["parameters"]["seeds"] == 10
    assert (nightly["parameters"]["target"], weekly["parameters"]["target"]) == ("table2", "all")

    out = tmp_path / "out"
    small = {"datasets": ["digits"], "methods": ["crf"], "seeds": 1, "out": str(out)}
    run = trigger_by_api(prefect_server, "nightly-yeast", **small)
    prefect("worker", "start", "--pool", "multilogger", "--run-once", cwd=REPOSITORY)
    assert ask(prefect_server, f"flow_runs/{run}")["state"]["type"] == "COMPLETED"
    assert (out / "table2.csv").read_text().count("\n") == 2
    assert list((store_root / "artifacts" / "evaluate").iterdir())
