"""Logs from frames, files and arrays: the same log whatever it came from."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import multilogger as ml

COLUMNS: dict[str, Any] = {
    "action": "act",
    "loss": "cost",
    "propensity": "pscore",
    "propensities": ["p_old", "p_young"],
    "logger": "who",
    "features": ["age", "height", "country"],
    "context": "id",
    "time": "day",
}


def assert_same(one: ml.BanditLog, other: ml.BanditLog, but: set[str] | None = None) -> None:
    for field in fields(one):
        if field.name in (but or ()):
            continue
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, err_msg=field.name)
        else:
            assert left == right, field.name


@pytest.fixture(scope="module")
def log(frame: pd.DataFrame) -> ml.BanditLog:
    return ml.BanditLog.from_pandas(frame, **COLUMNS)


def test_the_parts_are_those_of_the_frame(
    log: ml.BanditLog, replayed: ml.BanditLog, frame: pd.DataFrame
) -> None:
    assert len(log) == 900
    assert repr(log) == "BanditLog(rows=900, contexts=300, features=4, labels=6, loggers=['old', 'young'])"
    assert log.columns.names == ("age", "height", "country=at", "country=de")
    assert replayed.log_propensities is not None
    assert log.log_propensities is not None
    np.testing.assert_array_equal(log.action, replayed.action)
    np.testing.assert_array_equal(log.context, replayed.context)
    np.testing.assert_array_equal(log.logger, replayed.logger)
    np.testing.assert_allclose(log.log_propensities, replayed.log_propensities)
    x = np.asarray(log.x)[log.context]
    np.testing.assert_allclose(x[:, 0], frame["age"])
    np.testing.assert_array_equal(x[:, 3], frame["country"] == "de")


def test_every_library_gives_the_same_log(log: ml.BanditLog, frame: pd.DataFrame, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pl.from_arrow(table).write_parquet(tmp_path / "log.parquet")  # type: ignore[union-attr]
    others = [
        ml.BanditLog.from_arrow(table, **COLUMNS),
        ml.BanditLog.from_polars(pl.from_arrow(table), **COLUMNS),
        ml.BanditLog.from_frame(pl.from_arrow(table).lazy(), **COLUMNS),  # type: ignore[union-attr]
        ml.BanditLog.from_parquet(tmp_path / "log.parquet", **COLUMNS),
        ml.BanditLog.from_parquet(tmp_path, **COLUMNS),
    ]
    for other in others:
        assert_same(log, other)


@pytest.mark.parametrize(
    "changed",
    [
        {"propensities": "every"},
        {"propensities": {"young": "p_young", "old": "p_old"}},
        {"action": [f"label_{i}" for i in range(6)]},
    ],
)
def test_other_ways_to_say_the_same(
    log: ml.BanditLog, frame: pd.DataFrame, changed: dict[str, object]
) -> None:
    other = ml.BanditLog.from_pandas(frame, **(COLUMNS | changed))
    np.testing.assert_array_equal(other.action, log.action)
    np.testing.assert_array_equal(other.log_propensities, log.log_propensities)


def test_a_file_comes_back_as_it_was(log: ml.BanditLog, tmp_path: Path) -> None:
    log.to_parquet(tmp_path / "log.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path / "log.parquet"))


def test_loggers_named_by_numbers_keep_their_order_in_a_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    numbered = frame.assign(who=np.where(frame["who"] == "old", 2, 10))
    log = ml.BanditLog.from_pandas(numbered, **COLUMNS)
    assert log.loggers == ("2", "10")
    log.to_parquet(tmp_path / "log.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path / "log.parquet"))


def test_rewards_are_losses_turned_round(log: ml.BanditLog, frame: pd.DataFrame) -> None:
    columns = COLUMNS | {"loss": None, "reward": "click", "reward_range": (0, 6)}
    other = ml.BanditLog.from_pandas(frame, **columns)
    np.testing.assert_allclose(other.loss, log.loss)
    assert (other.max_loss, other.reward_range) == (6.0, (0.0, 6.0))


def test_arrays_and_contexts_given_apart(log: ml.BanditLog, frame: pd.DataFrame) -> None:
    arrays = ml.BanditLog.from_arrays(
        log.x,
        frame[[f"label_{i}" for i in range(6)]],
        loss=frame["cost"],
        propensity=frame["pscore"],
        propensities=frame[["p_old", "p_young"]],
        logger=frame["who"],
        context=log.context,
    )
    np.testing.assert_array_equal(arrays.x, log.x)
    np.testing.assert_array_equal(arrays.logger, log.logger)
    assert arrays.contexts_known
    once = frame.drop_duplicates("id")[["id", "age", "height", "country"]].sample(frac=1, random_state=0)
    apart = ml.BanditLog.from_pandas(
        frame.drop(columns=["age", "height", "country"]), contexts=once, **COLUMNS
    )
    np.testing.assert_array_equal(np.asarray(apart.x)[apart.context], np.asarray(log.x)[log.context])


def test_sparse_features_stay_sparse(replayed: ml.BanditLog) -> None:
    log = ml.BanditLog.from_arrays(
        sparse.csr_array(np.asarray(replayed.x)[replayed.context]),
        replayed.action,
        loss=replayed.loss,
        log_propensity=replayed.log_propensity,
    )
    assert sparse.issparse(log.x)
    assert log.loggers == ("logger",)
    assert not log.contexts_known
    assert sparse.issparse(log.split(0.5)[0].x)


def test_the_usual_names_need_not_be_said(frame: pd.DataFrame) -> None:
    usual = frame.rename(columns={"act": "action", "click": "reward", "who": "logger", "age": "x0"})
    log = ml.BanditLog.from_pandas(usual)
    assert log.columns.names == ("x0",)
    assert log.loggers == ("old", "young")
    assert not log.contexts_known
    assert log.log_propensities is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"action": "age"}, "action 'age' must be a column of lists of 0 and 1, or a list of such columns"),
        ({"action": "acts"}, "cannot read action: the log has no column 'acts', only id, who, act"),
        ({"action": ["label_0", "cost"]}, "a label vector holds 0 and 1 only, got"),
        ({"loss": "age"}, "the loss is -"),
        (
            {"loss": "day"},
            "above the largest loss 6 (the number of labels); say the largest possible one with",
        ),
        ({"reward": "click"}, "the loss came twice, as reward and loss; give one of them"),
        ({"loss": None}, "the log lacks what the action brought; say where it stands with reward or loss"),
        ({"loss": None, "reward": "click", "reward_range": (0, 1)}, "outside reward_range (0, 1); widen it"),
        ({"propensity": "day"}, "propensity is 0, a propensity of 0 for an action that was taken"),
        ({"propensity": "odds"}, "a propensity above 1; give a probability, not a weight"),
        ({"propensity": "who"}, "column 'who' must hold numbers"),
        ({"propensity": "nope"}, "cannot read propensity: the log has no column 'nope'"),
        ({"propensities": ["p_young", "p_old"]}, "order the list as old, young"),
        ({"propensities": ["p_old"]}, "has 1 numbers a row, the log has 2 loggers"),
        ({"propensities": {"old": "p_old"}}, "must name the column of every logger, got old for the loggers"),
        ({"logger": "nobody"}, "cannot read logger: the log has no column 'nobody'"),
        ({"features": []}, "features needs one or more names of columns, got none"),
        ({"features": ["weight"]}, "cannot read features: the log has no column 'weight'"),
        ({"features": None}, "the log has no features, neither a list column 'x' nor columns x0, x1"),
        ({"context": "who"}, "its features are not those of row 0, which has the same context id"),
        ({"max_loss": -1.0}, "max_loss must be a number above 0, got -1"),
    ],
)
def test_bad_columns(frame: pd.DataFrame, changed: dict[str, object], message: str) -> None:
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_pandas(frame, **(COLUMNS | changed))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("cost", np.nan, "row 4: the loss is missing, NaN or infinite; fill it in or drop the row"),
        ("pscore", np.nan, "row 4: propensity is missing or NaN; log it when the action is taken"),
        ("age", np.inf, "row 4: a feature is missing, NaN or infinite; fill it in"),
        ("country", None, "row 4: 'country' is missing; fill it in or drop the row"),
        ("who", None, "column 'logger' is missing in 1 rows; fill it in or drop them"),
    ],
)
def test_bad_values(frame: pd.DataFrame, column: str, value: object, message: str) -> None:
    bad = frame.copy()
    bad.loc[4, column] = value  # type: ignore[call-overload]
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_pandas(bad, **COLUMNS)
    assert message in str(caught.value)


def test_categories_and_booleans(log: ml.BanditLog, frame: pd.DataFrame) -> None:
    who = pd.Categorical(frame["who"], categories=["young", "unused", "old"])
    labels = {f"label_{i}": frame[f"label_{i}"] == 1 for i in range(6)}
    other = frame.assign(who=who, country=frame["country"].astype("category"), **labels)
    for kind in (other, pl.from_pandas(other.drop(columns=["act", "every"]))):
        assert_same(log, ml.BanditLog.from_frame(kind, **(COLUMNS | {"action": list(labels)})), {"actions"})


def test_folders_of_loggers_are_a_column(log: ml.BanditLog, frame: pd.DataFrame, tmp_path: Path) -> None:
    for who, rows in frame.groupby("who"):
        (tmp_path / f"who={who}").mkdir()
        rows.drop(columns="who").to_parquet(tmp_path / f"who={who}" / "rows.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path, **COLUMNS))


def test_columns_of_several_kinds(frame: pd.DataFrame) -> None:
    mixed = frame.assign(age=[1.0, "old"] * 450)
    with pytest.raises(ml.BadInput, match="a column of the frame holds values of several kinds"):
        ml.BanditLog.from_pandas(mixed, **COLUMNS)


def test_what_is_no_frame_and_what_is_empty(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ml.BadInput, match="a data frame is needed"):
        ml.BanditLog.from_pandas([1, 2])
    with pytest.raises(ml.BadInput, match="the log has no rows"):
        ml.BanditLog.from_pandas(frame[:0], **COLUMNS)
    with pytest.raises(ml.BadInput, match="there is no file or folder"):
        ml.BanditLog.from_parquet(tmp_path / "none")
    with pytest.raises(ml.BadInput, match="no Parquet files"):
        ml.BanditLog.from_parquet(tmp_path)


def test_columns_of_one_length(replayed: ml.BanditLog) -> None:
    with pytest.raises(ml.BadInput, match="a log needs columns of one length, got x 900, action 900, the l"):
        ml.BanditLog.from_arrays(
            np.asarray(replayed.x)[replayed.context], replayed.action, loss=[1.0], propensity=[0.5]
        )


@pytest.mark.parametrize("by", ["context", "row", "time"])
def test_a_split_has_every_row_once(log: ml.BanditLog, by: str) -> None:
    train, test = log.split(0.3, by=by, seed=1)
    assert len(train) + len(test) == len(log)
    assert len(test) == pytest.approx(0.3 * len(log), abs=1)
    shared = {tuple(row) for row in np.asarray(train.x)} & {tuple(row) for row in np.asarray(test.x)}
    assert (by == "context") == (not shared)
    if by == "time":
        assert train.time is not None
        assert test.time is not None
        assert train.time.max() < test.time.min()
    again = log.split(0.3, by=by, seed=1)[1]
    np.testing.assert_array_equal(test.loss, again.loss)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": 1.5}, "test must be a number between 0 and 1, got 1.5"),
        ({"by": "user"}, "a split is by context, row or time, got 'user'"),
        ({"test": 0.001, "by": "row"}, "has no rows on the second side; change the share or the seed"),
    ],
)
def test_bad_splits(log: ml.BanditLog, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ml.BadInput, match=message):
        log.split(**arguments)  # type: ignore[arg-type]


def test_a_split_by_time_needs_times(replayed: ml.BanditLog) -> None:
    with pytest.raises(ml.BadInput, match="needs the column of times; name it with time="):
        replayed.split(by="time")
