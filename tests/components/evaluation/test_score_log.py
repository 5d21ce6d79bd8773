"""A person's own Parquet logs: what is read, and what is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import Labels, log_probability
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.context_logits import context_logits
from multilogger.components.evaluation.score_log import Scored, score_log
from multilogger.components.log.files import open_log_files

Table = dict[str, Any]


@dataclass(frozen=True)
class Linear:
    """Logits that are the first two features."""

    features: int = 3

    @property
    def space(self) -> ActionSpace:
        return Labels(2)

    def logits(self, x: Features) -> Matrix:
        return np.asarray(x, dtype=np.float64)[:, :2]


def table(rows: int = 40, seed: int = 0) -> Table:
    """A good log of loggers "new" and "old", features in its rows."""
    rng = np.random.default_rng(seed)
    propensities = rng.uniform(0.1, 0.9, (rows, 2))
    logger = np.arange(rows) % 2  # in the order of the names: new, old
    return {
        "logger": [("new", "old")[j] for j in logger],
        "action": rng.integers(0, 2, (rows, 2)).tolist(),
        "loss": rng.uniform(0, 2, rows).tolist(),
        "propensity": propensities[np.arange(rows), logger].tolist(),
        "propensities": propensities.tolist(),
        "x": rng.normal(size=(rows, 3)).tolist(),
    }


def read(path: Path, contexts: Path | None = None, max_loss: float | None = None) -> Scored:
    given = None if contexts is None else context_logits(contexts, Linear())
    files = open_log_files(path, contexts_given=given is not None)
    return score_log(files, Linear(), np.random.default_rng(0), given, max_loss)


def write(folder: Path, content: Table, name: str = "log.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(content), folder / name)
    return folder


def test_rows_are_scored_under_the_policy(tmp_path: Path) -> None:
    content = table()
    found = read(write(tmp_path, content)).log
    logits = np.array(content["x"], dtype=np.float32).astype(float)[:, :2]
    action = np.array(content["action"], dtype=np.uint8)
    assert found.names == ("new", "old")
    np.testing.assert_array_equal(found.logger, np.arange(40) % 2)
    np.testing.assert_allclose(found.log_propensity, np.log(content["propensity"]))
    np.testing.assert_allclose(found.log_target, log_probability(logits, action))
    assert found.log_average is not None
    mixture = log_mixture(np.log(content["propensities"]), np.array([20.0, 20.0]))
    np.testing.assert_allclose(found.log_average, mixture)
    np.testing.assert_array_equal(found.is_greedy, ((logits > 0) == action).all(axis=1))
    assert found.contexts == 40


def same(left: Scored, right: Scored) -> None:
    """The same rows, in whatever order."""

    def lines(one: Scored) -> list[tuple[float, ...]]:
        log = one.log
        columns = (log.logger, log.delta, log.log_propensity, log.log_target)
        return sorted(zip(*(np.round(c, 9).tolist() for c in columns), strict=True))

    assert lines(left) == lines(right)


@pytest.mark.parametrize("form", ["logs", "columns", "hive", "small batches", "integers", "delta"])
def test_forms_of_one_log_read_the_same(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = table()
    expected = read(write(tmp_path / "plain", content))
    folder = tmp_path / "other"
    if form == "logs":
        content["log_propensity"] = np.log(content.pop("propensity")).tolist()
        content["log_propensities"] = np.log(content.pop("propensities")).tolist()
    elif form == "columns":
        for column, values in enumerate(np.array(content.pop("x")).T):
            content[f"x{column}"] = values.tolist()
    elif form == "small batches":
        monkeypatch.setattr("multilogger.components.log.files.BATCH_ROWS", 7)
    elif form == "integers":
        content["logger"] = [{"new": 3, "old": 10}[name] for name in content["logger"]]
    elif form == "delta":
        content["delta"] = content.pop("loss")
    if form == "hive":
        for name in ("new", "old"):
            rows = [i for i, label in enumerate(content["logger"]) if label == name]
            part = {k: [v[i] for i in rows] for k, v in content.items() if k != "logger"}
            write(folder / f"logger={name}", part)
        (folder / "README.txt").write_text("not a log")
    else:
        write(folder, content)
    same(read(folder), expected)


def test_contexts_may_stand_apart_with_ids_of_any_kind(tmp_path: Path) -> None:
    content = table()
    expected = read(write(tmp_path / "plain", content))
    names = [f"user {i}" for i in range(40)]
    features = {"context": names[::-1], "x": content.pop("x")[::-1]}
    contexts = write(tmp_path / "contexts", features) / "log.parquet"
    folder = write(tmp_path / "apart", content | {"context": names})
    found = read(folder, contexts)
    same(found, expected)
    assert found.contexts_known
    assert not expected.contexts_known


def test_rows_of_one_context_share_it_and_its_fold(tmp_path: Path) -> None:
    content = table() | {"context": [i // 4 for i in range(40)]}
    found = read(write(tmp_path, content))
    np.testing.assert_array_equal(found.log.context, np.arange(40) // 4)
    assert found.model is not None


def test_validation_rows_alone(tmp_path: Path) -> None:
    content = table() | {"validation": [i >= 10 for i in range(40)]}
    files = open_log_files(write(tmp_path, content), contexts_given=False)
    only = type(files)(files.dataset, files.columns, files.base, validation=True)
    found = score_log(only, Linear(), np.random.default_rng(0)).log
    np.testing.assert_allclose(found.delta, content["loss"][10:])


def test_without_other_propensities_there_is_no_average(tmp_path: Path) -> None:
    content = table()
    del content["propensities"]
    assert read(write(tmp_path, content)).log.log_average is None


def test_one_logger_is_enough(tmp_path: Path) -> None:
    content = table() | {"logger": ["only"] * 40}
    content["propensities"] = [[p] for p in content["propensity"]]
    assert read(write(tmp_path, content)).log.names == ("only",)


def _set(name: str, row: int, value: object) -> Callable[[Table], None]:
    def change(content: Table) -> None:
        content[name][row] = value

    return change


def _drop(name: str) -> Callable[[Table], None]:
    return lambda content: content.pop(name) and None


def _to(name: str, value: Callable[[Table], object]) -> Callable[[Table], None]:
    return lambda content: content.__setitem__(name, value(content))


BAD = [
    (_drop("loss"), "the log needs a column 'delta' or 'loss'.*it has logger, action"),
    (_drop("propensity"), "the log needs a column 'log_propensity' or 'propensity'"),
    (_drop("logger"), r"the log needs a column 'logger', who acted \(also from folders logger=<name>\)"),
    (_drop("action"), "the log needs a column 'action', the label vector"),
    (_drop("x"), "the log has no features, neither a list column 'x' nor columns x0, x1"),
    (_set("propensity", 3, 0.0), "log.parquet, row 3: propensity is 0, a propensity of 0 for an action"),
    (_set("propensity", 3, 1.2), "row 3: propensity is 1.2, a propensity above 1; give a probability"),
    (_set("propensity", 3, float("nan")), "row 3: propensity is missing or NaN"),
    (_set("propensity", 3, None), "row 3: propensity is missing or NaN"),
    (_to("log_propensity", lambda _: [0.5] * 40), "row 0: log_propensity is 0.5, a propensity above 1"),
    (_set("loss", 5, float("nan")), "row 5: the loss is missing, NaN or infinite"),
    (_set("loss", 5, -1.0), "row 5: the loss is -1, below 0; shift losses, or turn rewards"),
    (_set("loss", 5, 2.5), "row 5: the loss is 2.5, above the largest loss 2; .* say .* --max-loss"),
    (_to("loss", lambda _: ["a"] * 40), "column 'loss' must hold numbers"),
    (_to("action", lambda _: [[0, 1, 1]] * 40), "actions have 3 labels, the policy decides 2"),
    (_set("action", 4, [0, 7]), r"row 4: a label vector holds 0 and 1 only, got \[0 7\]"),
    (_set("action", 4, [0]), "the lists of column 'action' must have one length, got 1 to 2"),
    (_to("action", lambda _: [1] * 40), "column 'action' must hold lists of numbers"),
    (_to("x", lambda _: [[0.0] * 4] * 40), "contexts have 4 features, the policy takes 3"),
    (_set("x", 6, [0.0, float("nan"), 1.0]), "row 6: a feature is missing, NaN or infinite"),
    (_to("propensities", lambda _: [[0.5]] * 40), "has 1 numbers per row, the log has 2 loggers.*new, old"),
    (
        _to("propensities", lambda c: [p[::-1] for p in c["propensities"]]),
        "a row of logger new has log propensity .* order the list as new, old",
    ),
    (_set("propensities", 2, [0.5, 1.5]), "hold NaN or a propensity above 1"),
    (_set("logger", 1, None), "column 'logger' is missing in 1 rows"),
    (_to("logger", lambda _: ["new"] * 39 + ["old"]), "logger old has a single row"),
    (
        _to("loss", lambda _: [1.0] * 40),
        "the losses of all rows are 1; losses that never vary tell no action from another",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_logs_are_refused_each_with_its_own_words(
    tmp_path: Path, change: Callable[[Table], None], message: str
) -> None:
    content = table()
    change(content)
    with pytest.raises(BadInput, match=message):
        read(write(tmp_path, content))


def test_a_larger_loss_is_fine_when_it_is_said(tmp_path: Path) -> None:
    content = table()
    content["loss"][5] = 7.0
    assert read(write(tmp_path, content), max_loss=10.0).log.max_loss == 10.0


def test_an_empty_logger_is_named(tmp_path: Path) -> None:
    content = table()
    folders = {"a": content, "b": {k: v[:0] for k, v in content.items()}}
    for name, part in folders.items():
        columns = {k: v for k, v in part.items() if k not in ("logger", "propensities")}
        schema = pa.table({k: v for k, v in content.items() if k in columns}).schema
        folder = tmp_path / f"logger={name}"
        folder.mkdir()
        pq.write_table(pa.table(columns, schema=schema), folder / "log.parquet")
    with pytest.raises(BadInput, match="logger b has a folder but no rows; remove it"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "no Parquet files .* below"),
        (lambda p: (p / "a.parquet").write_text("no"), "cannot be read as Parquet"),
    ],
)
def test_folders_that_are_no_logs(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    make(tmp_path)
    with pytest.raises(BadInput, match=message):
        read(tmp_path)
    with pytest.raises(BadInput, match="there is no log at"):
        read(tmp_path / "nowhere")


def test_bad_contexts(tmp_path: Path) -> None:
    content = table()
    x = content.pop("x")
    log = write(tmp_path / "log", content | {"context": list(range(40))})
    few = write(tmp_path / "few", {"x": x[:30]}) / "log.parquet"
    with pytest.raises(BadInput, match=r"10 contexts of the log are not among the 30 .* first being 30"):
        read(log, few)
    narrow = write(tmp_path / "narrow", {"x": [row[:2] for row in x]}) / "log.parquet"
    with pytest.raises(BadInput, match="contexts have 2 features, the policy takes 3"):
        read(log, narrow)
    twice = write(tmp_path / "twice", {"x": x, "context": [0] * 40}) / "log.parquet"
    with pytest.raises(BadInput, match="39 context ids stand there twice"):
        read(log, twice)
    with pytest.raises(BadInput, match="there is no file of contexts"):
        read(log, tmp_path / "nothing.parquet")
    with pytest.raises(BadInput, match="the log has no column 'context'"):
        read(write(tmp_path / "nameless", content), write(tmp_path / "c", {"x": x}) / "log.parquet")
