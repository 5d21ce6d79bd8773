"""The security page: every promise has its tests, and no file is run as code."""

import ast
import pickle
import re
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import multilogger as ml
from multilogger.components.errors import BadInput
from multilogger.components.policies.policy import load_policy
from multilogger.flows.cluster.connect import open_cluster
from multilogger.flows.servers import local_server, session
from multilogger.tasks.engine.store import Store
from tests.conftest import Cli

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "pages" / "security.md"
SOURCE = sorted(path for folder in ("components", "tasks", "flows") for path in (ROOT / folder).rglob("*.py"))
UNPICKLING = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
RUNNING = {"eval", "exec", "compile", "__import__"}
LOADING = {
    ("torch", "load"),
    ("yaml", "load"),
    ("yaml", "full_load"),
    ("yaml", "unsafe_load"),
    ("os", "system"),
}


def promises() -> list[tuple[str, list[str]]]:
    """Every row of the page's tables: what is promised, and the tests that hold it."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(promise, re.findall(r"`(tests/[^`]+)`", held)) for promise, held in rows if promise != "promise"]


@pytest.mark.parametrize(("promise", "tests"), promises())
def test_every_promise_is_held_by_tests_that_exist(promise: str, tests: list[str]) -> None:
    assert tests, promise
    for name in tests:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_the_page_has_its_promises() -> None:
    assert len(promises()) > 15


def faults(text: str) -> list[str]:
    """What in a module could run code that a file holds."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names = {module or ""} | {alias.name for alias in node.names}
            found += sorted({name.split(".")[0] for name in names} & UNPICKLING)
        if isinstance(node, ast.Call):
            found += [word.arg for word in node.keywords if word.arg in ("shell", "allow_pickle")]
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("read_pickle", "popen"):
                found.append(node.func.attr)
            if isinstance(node.func, ast.Name) and node.func.id in RUNNING:
                found.append(node.func.id)
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                called = (node.func.value.id, node.func.attr)
                found += [".".join(called)] if called in LOADING else []
    return found


def test_the_source_runs_no_code_of_a_file() -> None:
    assert {path.name: found for path in SOURCE if (found := faults(path.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import pickle", "pickle"),
        ("from joblib.externals import loky", "joblib"),
        ("torch.load(path)", "torch.load"),
        ("np.load(path, allow_pickle=True)", "allow_pickle"),
        ("subprocess.run(line, shell=True)", "shell"),
        ("eval(text)", "eval"),
        ("pd.read_pickle(path)", "read_pickle"),
        ("os.popen(line)", "popen"),
    ],
)
def test_what_would_run_code_is_found(text: str, fault: str) -> None:
    assert faults(text) == [fault]


class Trap:
    """A pickle that leaves a file when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", ["policy.safetensors", "policy.json"])
def test_a_pickle_in_place_of_a_policy_is_refused_and_not_run(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    log = ml.BanditLog.from_arrays(
        x=rng.normal(size=(60, 3)),
        action=rng.integers(0, 4, 60),
        loss=(rng.random(60) < 0.5).astype(float),
        propensity=np.full(60, 0.25),
        logger=np.arange(60) % 2,
    )
    folder, mark = tmp_path / "policy", tmp_path / "mark"
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(folder)
    trap = pickle.dumps(Trap(mark))
    (folder / name).write_bytes(trap)
    with pytest.raises(BadInput):
        load_policy(folder)
    assert not mark.exists()
    pickle.loads(trap)  # whoever unpickles it is caught
    assert mark.exists()


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["digits", "../../x", "/tmp/x"])
def test_nothing_is_written_outside_of_the_store(
    name: str, cli: Cli, lone_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole command, or one that is refused: home, working directory and temporary folder stay empty."""
    around = tmp_path / "around"
    home, here, scratch = (around / place for place in ("home", "here", "scratch"))
    for place in (home, here, scratch):
        place.mkdir(parents=True)
    monkeypatch.chdir(here)
    own = ["--train", __file__, "--test", __file__, "--features", "2", "--labels", "2"]
    words = ["prepare", "--dataset", name, *([] if name == "digits" else own)]
    done = cli(*words, HOME=str(home), TMPDIR=str(scratch))
    assert done.returncode == (0 if name == "digits" else 2), done.stderr
    assert everything_below(around) == ["here", "home", "scratch"]
    assert bool(list(lone_store.glob("artifacts/*/*"))) is (name == "digits")


@pytest.mark.parametrize(
    ("module", "start"),
    [
        (local_server, local_server.start_mlflow),
        (local_server, local_server.start_prefect),
        (session, session._start),
    ],
)
def test_servers_listen_on_this_machine_alone(
    module: ModuleType,
    start: Callable[[Store, int], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []

    class NotStarted:
        def __init__(self, _store: Store, _kind: str, command: list[str], *_: object) -> None:
            started.append(command)

        def end(self) -> None:
            """Nothing was started."""

    monkeypatch.setattr(module, "LocalServer", NotStarted)
    start(Store(tmp_path), 5000)
    (command,) = started
    assert command[command.index("--host") + 1] == "127.0.0.1"


def test_a_cluster_of_this_machine_has_keys_of_its_own() -> None:
    """Who has none can have its workers run nothing."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with open_cluster(None, 1) as cluster:
        kind, _, place = cluster.address.partition("://")
        host, _, port = place.rpartition(":")
        assert (kind, host) == ("tls", "127.0.0.1")
        with (
            socket.create_connection((host, int(port)), timeout=50) as line,
            pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
            anybody.wrap_socket(line) as stranger,
        ):
            stranger.recv(1)
