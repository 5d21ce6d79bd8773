"""Logs and policies that somebody made by mistake: one line says which, and what to do."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

import multilogger as ml
from multilogger.components.errors import BadInput
from multilogger.flows.evaluation.command import keep, metrics_of
from multilogger.flows.evaluation.evaluate import Evaluated, EvaluateOptions, evaluate_on_logs
from multilogger.flows.terminal.terminal import Terminal

ROWS = 200
LONGEST = 400


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "logger": ["ab"[i % 2] for i in range(ROWS)],
        "action": rng.integers(0, 4, ROWS).tolist(),
        "loss": (rng.random(ROWS) < 0.5).astype(float).tolist(),
        "propensity": [0.25] * ROWS,
        "x": rng.normal(size=(ROWS, 3)).tolist(),
    }


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of four actions, from three features."""
    folder = tmp_path_factory.mktemp("odd") / "policy"
    log = ml.BanditLog.from_arrow(pa.table(columns()), actions=range(4))
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(folder)
    return folder


def evaluated(policy: Path, folder: Path, **others: Any) -> Evaluated:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**columns(), **others}), folder / "rows.parquet")
    return run(policy, folder)


def run(policy: Path, folder: Path) -> Evaluated:
    options = EvaluateOptions(str(policy), folder, folder.with_name("out"), bootstrap=100, track=False)
    done = evaluate_on_logs(options)
    keep(done, options)
    return done


def each(value: Any, kind: Any = None) -> pa.Array:
    return pa.array([value] * ROWS, kind)


ODD = {
    "propensity 1e-300": ("propensity", each(1e-300), "(its propensity is 1e-300), no estimate can be made"),
    "propensity as text": ("propensity", each("a"), "column 'propensity' must hold numbers"),
    "propensity as a time": (
        "propensity",
        each(0, pa.timestamp("us")),
        "column 'propensity' must hold numbers",
    ),
    "action as text": ("action", each("one"), "an action is one of 0, 1, 2, 3, got 'one'"),
    "action as nested lists": ("action", each([[1]]), "column 'action' must hold the number or the name"),
    "action 2^62": ("action", each(2**62), "got 4611686018427387904"),
    "action as a time": (
        "action",
        each(0, pa.timestamp("us")),
        "an action is one of 0, 1, 2, 3, got datetime",
    ),
    "action as a structure": ("action", each({"a": 1}), "got struct<a: int64>"),
    "action missing": ("action", pa.nulls(ROWS), "row 0: the action is missing"),
    "logger as a list": ("logger", each(["a"]), "column 'logger' must hold one label per row"),
    "logger as a structure": ("logger", each({"a": 1}), "column 'logger' must hold one label per row"),
    "logger as a map": ("logger", each([("a", 1)], pa.map_(pa.string(), pa.int64())), "must hold one label"),
    "logger NaN": ("logger", each(float("nan")), "column 'logger' is NaN in 200 rows"),
    "context as a list": ("context", each([1]), "column 'context' must hold one label per row"),
    "context as a structure": ("context", each({"a": 1}), "column 'context' must hold one label per row"),
    "context all NaN": ("context", each(float("nan")), "column 'context' is NaN in 200 rows"),
    "context missing": ("context", pa.nulls(ROWS), "column 'context' is missing in 200 rows"),
    "x as text": ("x", each("a"), "column 'x' must hold lists of numbers, got string"),
    "x as a number": ("x", each(1.0), "column 'x' must hold lists of numbers, got double"),
    "x of text": ("x", each(["a", "b", "c"]), "column 'x' must hold numbers"),
    "x nested": ("x", each([[1.0], [2.0], [3.0]]), "column 'x' must hold numbers"),
    "x beyond float32": ("x", each([1e300, 0.0, 0.0]), "a feature is missing, NaN or infinite"),
    "propensities as a number": ("propensities", each(0.5), "must hold lists of numbers, got double"),
    "propensities as text": ("propensities", each(["a", "b"]), "column 'propensities' must hold numbers"),
    "validation as text": ("validation", each("yes"), "column 'validation' must hold true and false"),
    "validation as lists": ("validation", each([True]), "column 'validation' must hold true and false"),
    "validation missing": ("validation", pa.nulls(ROWS), "column 'validation' must hold true and false"),
    "action as a time of no calendar": (
        "action",
        each(-(2**63) + 1, pa.timestamp("us")),
        "column 'action' holds timestamp[us], which cannot be told apart (date value out of range)",
    ),
    "logger as a time of no zone": (
        "logger",
        each(0, pa.timestamp("us", "Mars/Olympus")),
        "cannot be told apart ('Mars/Olympus'); cast it to whole numbers or words",
    ),
    "action as float16": ("action", each(np.float16(0.5), pa.float16()), "one of 0, 1, 2, 3, got 0.5"),
    "loss of 1e300": ("loss", each(1e300), "the loss is 1e+300, more than 1e+30 from 0; count it in a"),
    "loss as a list": ("loss", each([1.0]), "column 'loss' must hold numbers"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_column_is_told_in_one_line(policy: Path, tmp_path: Path, name: str) -> None:
    column, values, message = ODD[name]
    with pytest.raises(BadInput) as refusal:
        evaluated(policy, tmp_path / "log", **{column: values})
    line = str(refusal.value)
    assert message in line
    assert len(line) < LONGEST
    assert "\n" not in line


def test_a_logger_in_float16_is_a_logger(policy: Path, tmp_path: Path) -> None:
    halves = pa.array(np.arange(ROWS) % 2, pa.float32()).cast(pa.float16())
    done = evaluated(policy, tmp_path / "log", logger=halves)
    assert [one.name for one in done.result.loggers] == ["0.0", "1.0"]


def test_a_log_without_rows_says_what_to_do(policy: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns()).slice(0, 0), tmp_path / "rows.parquet")
    with pytest.raises(BadInput, match=r"^the log has no rows; check the filter that made it$"):
        run(policy, tmp_path)


def test_validation_as_0_and_1_is_understood(policy: Path, tmp_path: Path) -> None:
    assert evaluated(policy, tmp_path, validation=[i % 4 < 2 for i in range(ROWS)]).result.rows == 100
    assert evaluated(policy, tmp_path, validation=[int(i % 4 < 2) for i in range(ROWS)]).result.rows == 100


@pytest.mark.parametrize(
    ("context", "number"),
    [([0] * ROWS, 1), (columns()["logger"], 2), ([i % 10 for i in range(ROWS)], 10)],
    ids=["all 0", "one per logger", "ten"],
)
def test_few_contexts_give_no_trust_and_no_point(
    policy: Path, tmp_path: Path, context: list[Any], number: int
) -> None:
    result = evaluated(policy, tmp_path, context=context).result
    assert result.recommendation.estimator is None
    assert result.recommendation.sentence.startswith("Trust none of them")
    assert "different contexts" in result.warnings[0]
    assert result.contexts == number
    for row in result.estimates:
        assert row.bootstrap.high - row.bootstrap.low > 0.02, row


def test_python_tells_few_contexts_too() -> None:
    same = {"x": [[0.0, 1.0, 2.0]] * ROWS, "context": [0] * ROWS}
    log = ml.BanditLog.from_arrow(pa.table({**columns(), **same}))

    class Even:
        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            return np.full((len(x), 4), 0.25)

    report = ml.evaluate(Even(), log, bootstrap=100)
    assert report.recommended is None
    assert all(row.bootstrap.low < row.bootstrap.high for row in report.estimates.values())


def test_names_of_loggers_are_printed_as_they_are(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["model[a]", "[/]"]
    done = evaluated(policy, tmp_path, logger=[names[i % 2] for i in range(ROWS)])
    assert [one.name for one in done.result.loggers] == sorted(names)
    assert {"mean_weight/____1", "mean_weight/model_a__2"} <= set(metrics_of(done.result))
    Terminal().table("Loggers [of] mine", [{"logger [x]": name} for name in names])
    out = capsys.readouterr().out
    assert all(text in out for text in ("Loggers [of] mine", "logger [x]", "model[a]", "[/]"))


def test_names_with_dollars_and_long_names_are_drawn(policy: Path, tmp_path: Path) -> None:
    evaluated(policy, tmp_path, logger=[("$x_{$", "b" * 500)[i % 2] for i in range(ROWS)])
    assert (tmp_path.with_name("out") / "evaluation.svg").stat().st_size > 1000


@pytest.mark.parametrize("content", [b"", b"no Parquet at all"], ids=["empty", "text"])
def test_a_file_that_is_no_parquet_among_others(policy: Path, tmp_path: Path, content: bytes) -> None:
    pq.write_table(pa.table(columns()), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(BadInput, match=r"cannot be read as Parquet.*b\.parquet"):
        run(policy, tmp_path)


@pytest.mark.parametrize(
    "manifest",
    [
        {"stage": "replay", "key": "k", "files": [], "inputs": {}},
        {"stage": "replay", "key": "k", "files": {"a": 1}, "inputs": {}},
        {"stage": "replay", "key": "k", "files": {"a": {"sha256": "0"}}, "inputs": []},
        [],
    ],
)
def test_a_damaged_manifest(policy: Path, tmp_path: Path, manifest: Any) -> None:
    folder = tmp_path / "artifacts" / "replay" / "k"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match=r"manifest\.json"):
        run(policy, folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": 10**9}, "it says a network of"),
        ({"hidden": [10**12]}, "it says a network of"),
        ({"features": 10**18}, "it says a network of"),
        ({"size": "many"}, "sizes must be whole numbers above 0"),
        ({"members": 1.5}, "sizes must be whole numbers above 0"),
        ({"hidden": None}, "is no policy, or it is damaged"),
    ],
)
def test_a_policy_of_impossible_size(policy: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = shutil.copytree(policy, tmp_path / "policy")
    facts = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps({**facts, **change}))
    with pytest.raises(BadInput, match=message):
        evaluated(folder, tmp_path / "log")


def test_a_policy_with_a_scale_in_two_dimensions(policy: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(policy, tmp_path / "policy")
    tensors = load_file(folder / "policy.safetensors")
    scale = tensors["standardisation/scale"]
    save_file({**tensors, "standardisation/scale": np.stack([scale, scale])}, folder / "policy.safetensors")
    with pytest.raises(BadInput, match="must have 3 numbers, one per feature"):
        evaluated(folder, tmp_path / "log")
