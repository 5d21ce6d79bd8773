"""Odd words as they are typed: addresses, paths and numbers of commands, and what the environment says."""

import json
import sys
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.flows.environment import LOGINS
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from multilogger.flows.terminal.errors import NO_MEMORY, explain
from tests.conftest import Cli
from tests.fuzz.doors import LONGEST, MOST_SECONDS

SECRET = "geheim-7f3a"
LONG = "x" * 300
NO_ADDRESSES = (
    f"http://bob:{SECRET}@[::1/",
    f"https://bob:{SECRET}@a]b/x",
    f"postgresql://bob:{SECRET}@[::1/x",
)
MISTYPED = (
    f"bob:{SECRET}@127.0.0.1:1/x",
    f"http:/bob:{SECRET}@127.0.0.1:1/x",
    f"http//bob:{SECRET}@host",
    f"bob:sla/{SECRET}@host/x",
    f"http://bob:{SECRET}@[::1",
)
TYPED = (
    ["check", LONG],
    ["evaluate", "--policy", LONG, "--logs", "x"],
    ["evaluate", "--policy", "POLICY", "--logs", LONG],
    ["evaluate", "--policy", "POLICY", "--logs", "LOG", "--contexts", LONG],
    ["evaluate", "--policy", "POLICY", "--logs", "LOG", "--bootstrap", "1000000000000"],
    ["evaluate", "--policy", "POLICY", "--logs", "LOG", "--bootstrap", "9" * 20],
    ["learn", "--logs", LONG],
    ["learn", "--logs", "LOG", "--columns", LONG],
    ["learn", "--logs", "LOG", "--contexts", LONG],
    ["learn", "--set", "estimate.bootstrap=" + "9" * 18],
    ["prepare", "--train", LONG, "--test", LONG, "--features", "3", "--labels", "3"],
    ["prepare", "--dataset", "scene", "--mirror", LONG],
    ["learn", "--method", "weighted", "--set", "learn.risk_rate=1e308"],
    ["learn", "--method", "weighted", "--set", "learn.weight_decay=1e308"],
    *(["prepare", "--dataset", "scene", "--mirror", word] for word in MISTYPED),
    *([name, "--seeds", many] for name, many in product(("reproduce", "study", "serve"), ("1001", "9" * 10))),
)  # fmt: skip


def is_refusal(code: int, out: str, err: str) -> None:
    assert code == 2, err
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith("multilogger: ")
    assert len(err) < LONGEST, err
    assert SECRET not in err


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store without runs: what is refused is refused before a server is asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path / "store"))
    for name in ("MLFLOW_TRACKING_URI", "MULTILOGGER_MIRROR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def known(tmp_path: Path) -> dict[str, str]:
    """A log and a policy that are as they should be."""
    rng, rows = np.random.default_rng(0), 60
    table = pa.table(
        {
            "logger": ["ab"[i % 2] for i in range(rows)],
            "action": rng.integers(0, 4, rows).tolist(),
            "loss": (rng.random(rows) < 0.5).astype(float).tolist(),
            "propensity": [0.25] * rows,
            "x": rng.normal(size=(rows, 3)).tolist(),
        }
    )
    log = ml.BanditLog.from_arrow(table, actions=range(4))
    log.to_parquet(tmp_path / "log.parquet")
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(tmp_path / "policy")
    return {"LOG": str(tmp_path / "log.parquet"), "POLICY": str(tmp_path / "policy")}


@pytest.mark.parametrize("arguments", TYPED, ids=lambda words: " ".join(word[:30] for word in words))
def test_odd_words(typed: Cli, known: dict[str, str], arguments: list[str]) -> None:
    started = time.perf_counter()
    done = typed(*(known.get(word, word) for word in arguments))
    is_refusal(done.returncode, done.stdout, done.stderr)
    assert time.perf_counter() - started < MOST_SECONDS


@pytest.mark.parametrize(("name", "address"), [(n, a) for n in LOGINS for a in NO_ADDRESSES])
def test_no_addresses(typed: Cli, name: str, address: str) -> None:
    done = typed("compare", **{name: address})
    is_refusal(done.returncode, done.stdout, done.stderr)
    assert name in done.stderr


def test_no_address_before_anything_is_imported(cli: Cli, tmp_path: Path) -> None:
    done = cli("compare", MLFLOW_TRACKING_URI=NO_ADDRESSES[0], MULTILOGGER_HOME=str(tmp_path))
    is_refusal(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("size", [2**60, sys.maxsize // 8])
def test_more_memory_than_there_is(size: int) -> None:
    for ask in (
        lambda: np.zeros(size),
        lambda: __import__("torch").zeros(size),
        lambda: pa.allocate_buffer(size),
    ):
        with pytest.raises((MemoryError, RuntimeError, ValueError)) as refused:
            ask()
        assert explain(refused.value) == (NO_MEMORY, 2)


@pytest.mark.parametrize("adds", [[], {}, [1], ["x"], [True] * 1000, "x", True])
def test_parts_of_a_blend(known: dict[str, str], adds: object) -> None:
    folder = Path(known["POLICY"])
    facts = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(facts | {"adds": adds}))
    with pytest.raises(ml.BadInput, match=r"policy\.json is no policy, or it is damaged"):
        ml.load_policy(folder)


@pytest.mark.parametrize("name", ["standardisation/scale", "standardisation/mean", "network/layers.0.weight"])
@pytest.mark.parametrize("kind", ["float32", "int64", "float64", "bool", "complex64", "float16"])
def test_types_of_arrays(known: dict[str, str], name: str, kind: str) -> None:
    """What is taken also acts."""
    import torch
    from safetensors.torch import load_file, save_file

    path = Path(known["POLICY"]) / "policy.safetensors"
    arrays = load_file(path)
    found = next((key for key in arrays if key == name), next(iter(arrays)))
    save_file(arrays | {found: arrays[found].to(getattr(torch, kind))}, path)
    if kind != "float32" and (kind == "complex64" or name.startswith("standardisation")):
        with pytest.raises(ml.BadInput, match="must be of the type float32"):
            ml.load_policy(path.parent)
    else:
        assert ml.load_policy(path.parent).predict_proba(np.zeros((2, 3))).shape == (2, 4)


def test_lists_without_features() -> None:
    rows = 6
    table = {"logger": ["a", "b"] * 3, "action": [0, 1] * 3, "loss": [0.5] * rows, "propensity": [0.5] * rows}
    empty = pa.array([[]] * rows, pa.list_(pa.float64()))
    for more in ({}, {"context": list(range(rows))}):
        with pytest.raises(ml.BadInput, match="no features"):
            ml.BanditLog.from_arrow(pa.table({**table, "x": empty, **more}), actions=range(2))


@pytest.mark.parametrize("text", ["[" * 200_000, "{", "3", "null", '{"a": 1}'])
@pytest.mark.parametrize("name", ["policy.json", "columns.json"])
def test_deep_and_odd_json(known: dict[str, str], name: str, text: str) -> None:
    folder = Path(known["POLICY"])
    (folder / name).write_text(text)
    with pytest.raises(ml.BadInput, match=f"{name} is .*damaged"):
        ml.load_policy(folder)


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b"{", b"3", b"null", b'{"a": 1}', b'{"actions": [], "max_loss": "x"}', b"\xff"]
)
@pytest.mark.parametrize("key", [b"actions", b"multilogger"])
def test_odd_json_in_a_schema(known: dict[str, str], key: bytes, text: bytes) -> None:
    """Of actions that the file of a log names, and of what we say in it: read, or refused."""
    path = Path(known["LOG"])
    table = pq.read_table(path)
    said = {b"actions": table.schema.metadata[b"actions"], key: text}
    pq.write_table(table.replace_schema_metadata(said), path)
    with pytest.raises(ml.BadInput, match=r"the schema of the log has no|cannot be read"):
        ml.BanditLog.from_parquet(path)
    options = EvaluateOptions(known["POLICY"], path, path.parent / "out", bootstrap=100, track=False)
    with suppress(ml.BadInput):
        evaluate_on_logs(options)
