"""Real parts for the tests: a Prefect server, MLflow stores, data files, and the installed command."""

import atexit
import bz2
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop_server() -> None:
    """Registered before Prefect is imported, hence run after Prefect has sent its last records."""
    if SERVER:
        os.killpg(SERVER[0].pid, signal.SIGTERM)
        SERVER[0].wait(30)
    shutil.rmtree(PREFECT_HOME, ignore_errors=True)


# Prefect reads its settings when it is imported: its home and address stand before that.
SERVER: list[subprocess.Popen[bytes]] = []
PREFECT_HOME = tempfile.mkdtemp(prefix="multilogger-prefect-")
PORT = _free_port()
atexit.register(_stop_server)
os.environ["PREFECT_HOME"] = PREFECT_HOME
os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{PORT}/api"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two cores: several processes do better with a thread each

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from multilogger.components.labelled_data import LabelledData  # noqa: E402
from multilogger.flows.environment import set_defaults  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
REAL_MIRROR = Path(os.environ.get("MULTILOGGER_TEST_MIRROR") or REPOSITORY.parent / "shared" / "data")

Cli = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every process begins with its share of the slow tests: begun last, one would go on alone."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]
    size = -(-len(items) // count)
    ordered: list[pytest.Item] = []
    for place in range(count):
        share = slow[place::count]
        ordered += share + quick[: size - len(share)]
        quick = quick[size - len(share) :]
    items[:] = ordered + quick


@pytest.fixture
def real_mirror() -> Path:
    """The real scene, yeast and tmc500 files."""
    if not (REAL_MIRROR / "multilabel").is_dir():
        pytest.skip(f"no real data at {REAL_MIRROR}; name a LibSVM mirror with MULTILOGGER_TEST_MIRROR")
    return REAL_MIRROR


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20190804)


@pytest.fixture(scope="session")
def prefect_server() -> str:
    """The address of a real Prefect server that lives for the session."""
    set_defaults()
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(PORT)]
    log = Path(PREFECT_HOME) / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command,
            env=without_server() | {"PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    SERVER.append(server)
    _wait_for(f"http://127.0.0.1:{PORT}/api/health", server, log)
    return f"http://127.0.0.1:{PORT}/api"


def without_server() -> dict[str, str]:
    """The environment of somebody who has no Prefect server."""
    return {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"the Prefect server did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def migrated_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLflow database with its tables, to be copied: making them takes seconds."""
    from mlflow import MlflowClient

    database = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{database}").search_experiments()
    return database


@pytest.fixture
def store_root(
    tmp_path: Path, prefect_server: str, migrated_mlflow: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A store of its own, on the session's Prefect server."""
    root = tmp_path / "store"
    root.mkdir()
    shutil.copy(migrated_mlflow, root / "mlflow.db")
    monkeypatch.setenv("MULTILOGGER_HOME", str(root))
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MULTILOGGER_MIRROR", raising=False)
    return root


@pytest.fixture
def lone_store(store_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose owner has no server, with a copy of a database that needs no migration."""
    home = store_root / "prefect"
    home.mkdir()
    source = Path(os.environ["PREFECT_HOME"]) / "prefect.db"
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(home / "prefect.db")) as new:
        old.backup(new)
    (home / f"migrated-{version('prefect')}").touch()
    monkeypatch.delenv("PREFECT_API_URL")
    monkeypatch.setenv("PREFECT_HOME", str(home))
    return store_root


@pytest.fixture
def command() -> str:
    """The installed console script."""
    return str(Path(sys.executable).with_name("multilogger"))


@pytest.fixture
def cli(command: str) -> Cli:
    """Run the console script as a user would."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            env=os.environ | {"COLUMNS": "160"} | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def wide_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Own files in LibSVM's format, sparse and wide, as the options that name them."""
    folder = tmp_path_factory.mktemp("wide")
    generator = np.random.default_rng(5)
    for name, rows in (("train", 300), ("test", 120)):
        data = sparse_problem(generator, rows, features=400, labels=5)
        (folder / f"{name}.svm.bz2").write_bytes(bz2.compress(to_svmlight(data).encode()))
    return {
        "--train": str(folder / "train.svm.bz2"),
        "--test": str(folder / "test.svm.bz2"),
        "--features": "400",
        "--labels": "5",
    }


@pytest.fixture(scope="session")
def wide_options(wide_files: dict[str, str]) -> list[str]:
    """Options under which all four stages have work to do."""
    named = [part for pair in wide_files.items() for part in pair]
    return ["--dataset", "wide", *named, "--set", "svd_dims=20"]


@pytest.fixture(scope="session")
def wide_settings(wide_files: dict[str, str]) -> dict[str, object]:
    """What `wide_options` says, as settings of the flow."""
    return {
        "download.train_path": wide_files["--train"],
        "download.test_path": wide_files["--test"],
        "download.features": 400,
        "download.labels": 5,
        "reduce.svd_dims": 20,
    }


def sparse_problem(generator: np.random.Generator, rows: int, features: int, labels: int) -> LabelledData:
    """Contexts that are mostly zero, with labels that depend on them."""
    x = generator.random((rows, features)) * (generator.random((rows, features)) < 0.1)
    weights = np.random.default_rng(1).normal(size=(features, labels))
    return LabelledData(x.astype(np.float32), (x @ weights > 0.5).astype(np.uint8))


def to_svmlight(data: LabelledData) -> str:
    """LibSVM's multi-label text: labels from 0, features from 1."""
    x = np.asarray(data.x)
    lines = []
    for row in range(data.rows):
        present = ",".join(str(label) for label in np.flatnonzero(data.y[row]))
        values = " ".join(f"{column + 1}:{x[row, column]:.6g}" for column in np.flatnonzero(x[row]))
        lines.append(f"{present} {values}")
    return "\n".join(lines) + "\n"
