"""Real parts for the tests: a Prefect server, MLflow stores, data files, and the installed command."""

import atexit
import bz2
import gc
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

from tests.waiting import answers, free_port, wait_for


def _stop_server() -> None:
    """Registered before Prefect is imported, hence run after Prefect has sent its last records."""
    if SERVER_ID.exists():
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(int(SERVER_ID.read_text()), signal.SIGKILL)  # nobody reads its database any more
    shutil.rmtree(SHARED, ignore_errors=True)


# Prefect reads its settings when it is imported: its home and address stand before that. The worker processes
# of pytest-xdist inherit them: all have one server, and what else takes long to make and is only read.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["PREFECT_HOME"] = str(Path(tempfile.mkdtemp(prefix="multilogger-tests-")) / "prefect")
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{free_port()}/api"
    atexit.register(_stop_server)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else atexit is not called
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A CI that starts us in the background has us ignore Ctrl-C, and so would all that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
PREFECT_HOME = Path(os.environ["PREFECT_HOME"])
PREFECT_API = os.environ["PREFECT_API_URL"]
SHARED = PREFECT_HOME.parent
SERVER_ID = SHARED / "server.pid"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two cores: several processes do better with a thread each

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from multilogger.components.datasets.labelled_data import LabelledData  # noqa: E402
from multilogger.flows.cli import main  # noqa: E402
from multilogger.flows.environment import set_defaults  # noqa: E402
from multilogger.tasks.engine.locks import FileLock  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
REAL_MIRROR = Path(os.environ.get("MULTILOGGER_TEST_MIRROR") or REPOSITORY.parent / "shared" / "data")

Cli = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-digests", action="store_true", help="record the results of tests/golden anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every process begins with its share of the tests that take long: begun last, one would go on alone."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for mark in ("slow", "early") for item in items if item.get_closest_marker(mark)]
    quick = [item for item in items if item not in long]
    size = -(-len(items) // count)
    ordered: list[pytest.Item] = []
    for place in range(count):
        share = long[place::count]
        ordered += share + quick[: size - len(share)]
        quick = quick[size - len(share) :]
    items[:] = ordered + quick


@pytest.fixture(autouse=True)
def _own_tracking() -> Iterator[None]:
    """Flows in this process tell MLflow their store for good, child processes too: forget it."""
    yield
    if (mlflow := sys.modules.get("mlflow")) is not None:
        mlflow.set_tracking_uri(None)
        mlflow.set_registry_uri(None)
        os.environ.pop("MLFLOW_REGISTRY_URI", None)  # the call above leaves it there


@pytest.fixture
def real_mirror() -> Path:
    """The real scene, yeast and tmc500 files."""
    if not (REAL_MIRROR / "multilabel").is_dir():
        if "MULTILOGGER_TEST_MIRROR" in os.environ:
            pytest.fail(f"MULTILOGGER_TEST_MIRROR names {REAL_MIRROR}, which has no folder multilabel")
        pytest.skip(f"no real data at {REAL_MIRROR}; name a LibSVM mirror with MULTILOGGER_TEST_MIRROR")
    return REAL_MIRROR


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20190804)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A file or folder that the first process to need it makes for all of them."""
    path, unfinished = SHARED / name, SHARED / f"unfinished-{name}"
    with FileLock(SHARED / f"{name}.lock"):
        if not path.exists():
            make(unfinished)
            unfinished.rename(path)
    return path


@pytest.fixture(scope="session")
def migrated_prefect() -> Path:
    """The database of a real Prefect server as it was when the server came up; the server goes on."""
    set_defaults()
    return made_once("prefect.db", _start_server)


@pytest.fixture(scope="session")
def prefect_server(migrated_prefect: Path) -> str:
    """The address of the real Prefect server that lives for the session."""
    assert migrated_prefect.is_file()
    return PREFECT_API


def _start_server(copy: Path) -> None:
    """Start the server and copy its fresh database."""
    port = PREFECT_API.removesuffix("/api").rsplit(":", 1)[1]
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", port]
    log = SHARED / "server.log"
    output = [
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    environment = without_server() | {"PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2"}
    # It outlives the process that was first to need it, so that process has no object to wait for its end.
    server = os.posix_spawn(sys.executable, command, environment, file_actions=output, setsid=True)
    SERVER_ID.write_text(str(server))

    def up() -> bool:
        assert os.waitpid(server, os.WNOHANG) == (0, 0), log.read_text()
        return answers(f"{PREFECT_API}/health")

    wait_for(up, shown=log.read_text)
    with closing(sqlite3.connect(PREFECT_HOME / "prefect.db")) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)


def without_server() -> dict[str, str]:
    """The environment of somebody who has no Prefect server."""
    return {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}


@pytest.fixture(scope="session")
def migrated_mlflow() -> Path:
    """An MLflow database with its tables, to be copied: making them takes seconds."""

    def migrate(database: Path) -> None:
        from mlflow import MlflowClient

        MlflowClient(f"sqlite:///{database}").search_experiments()

    return made_once("mlflow.db", migrate)


@pytest.fixture
def new_store(tmp_path: Path, migrated_mlflow: Path) -> Callable[[str], Path]:
    """Make an empty store of some name, with tables in its MLflow database."""

    def make(name: str) -> Path:
        root = tmp_path / name
        root.mkdir()
        shutil.copy(migrated_mlflow, root / "mlflow.db")
        return root

    return make


@pytest.fixture
def store_root(
    new_store: Callable[[str], Path], prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A store of its own, on the session's Prefect server."""
    root = new_store("store")
    monkeypatch.setenv("MULTILOGGER_HOME", str(root))
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MULTILOGGER_MIRROR", raising=False)
    return root


@pytest.fixture
def lone_store(store_root: Path, migrated_prefect: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose owner has no server, with a copy of a database that needs no migration."""
    home = store_root / "prefect"
    home.mkdir()
    shutil.copy(migrated_prefect, home / "prefect.db")
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
            timeout=900,
            check=False,
        )

    return run


@pytest.fixture
def typed(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call the console script's own function in this process, which has loaded its libraries already."""
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "MLFLOW_LOGGING_LEVEL"):
        monkeypatch.setenv(name, "CRITICAL")  # the command sets them for good
    monkeypatch.setattr(logging, "raiseExceptions", True)  # this one too

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        endings = {ending: signal.getsignal(ending) for ending in (signal.SIGTERM, signal.SIGHUP)}
        seldom = gc.get_threshold()
        try:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "argv", [command, *arguments])
                for name, value in variables.items():
                    patch.setenv(name, value)
                with pytest.raises(SystemExit) as left:
                    main()
        finally:
            gc.set_threshold(*seldom)
            for ending, handler in endings.items():
                signal.signal(ending, handler)
        shown = capsys.readouterr()
        code = left.value.code or 0
        assert isinstance(code, int)
        return subprocess.CompletedProcess([command, *arguments], code, shown.out, shown.err)

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
    return LabelledData.of_labels(x.astype(np.float32), (x @ weights > 0.5).astype(np.uint8))


def to_svmlight(data: LabelledData) -> str:
    """LibSVM's multi-label text: labels from 0, features from 1."""
    x = np.asarray(data.x)
    lines = []
    for row in range(data.rows):
        present = ",".join(str(label) for label in np.flatnonzero(data.y[row]))
        values = " ".join(f"{column + 1}:{x[row, column]:.6g}" for column in np.flatnonzero(x[row]))
        lines.append(f"{present} {values}")
    return "\n".join(lines) + "\n"
