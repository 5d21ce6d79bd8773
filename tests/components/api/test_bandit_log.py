"""Logs from frames, files and arrays: the same log whatever it came from."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import multilogger as ml
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.log.schema import LogRows, log_schema, space_of, to_table
from tests.components.api.conftest import NUMBERS, OFFERS

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

ONE_OF: dict[str, Any] = {
    "action": "offer",
    "reward": "click",
    "propensity": "pscore",
    "propensities": "every",
    "logger": "who",
    "context": "id",
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
        (
            {"action": "age"},
            "action must hold whole numbers, words or booleans, or lists of 0 and 1, got double; cast it",
        ),
        ({"actions": [0, 1]}, "actions= lists what one action per row is chosen from, but these are label v"),
        ({"action": "acts"}, "cannot read action: the log has no column 'acts', only id, who, act"),
        ({"action": ["label_0", "cost"]}, "a label vector holds 0 and 1 only, got"),
        ({"loss": "age"}, "column 'age' cannot be a feature: it is the action, the outcome or another part"),
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
        ({"propensities": ["p_old"]}, "has 1 numbers per row, the log has 2 loggers"),
        ({"propensities": {"old": "p_old"}}, "must name the column of every logger, got old for the loggers"),
        ({"logger": "nobody"}, "cannot read logger: the log has no column 'nobody'"),
        ({"features": []}, "features needs one or more names of columns, got none"),
        ({"features": ["weight"]}, "cannot read features: the log has no column 'weight'"),
        ({"features": None}, "the log has no features, neither a list column 'x' nor columns x0, x1"),
        ({"context": "who"}, "its features are not those of row 0, which has the same context id"),
        ({"max_loss": -1.0}, "max_loss must be a number above 0 and at most 1e+30, got -1"),
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
        ("age", np.inf, "row 4: 'age' is inf, infinite or too large"),
        ("country", None, "row 304: its features are not those of row 4, which has the same context id"),
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


def assert_chosen_as(log: ml.BanditLog, one_of: ml.BanditLog) -> None:
    """The same choices, losses and propensities, whatever actions and loggers are called."""
    assert log.space == OneOf(4)
    assert log.max_loss == one_of.max_loss == 1.0
    for name in ("action", "loss", "log_propensity", "log_propensities", "logger", "context"):
        np.testing.assert_allclose(getattr(log, name), getattr(one_of, name), atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("column", "ids"),
    [("offer", OFFERS), ("number", NUMBERS), ("kind", OFFERS)],
    ids=["word", "number", "kind"],
)
def test_a_column_of_ids_is_one_action_each(
    one_of: ml.BanditLog, offers: pd.DataFrame, column: str, ids: tuple[object, ...]
) -> None:
    log = ml.BanditLog.from_pandas(offers, **(ONE_OF | {"action": column}))
    assert_chosen_as(log, one_of)
    assert log.actions == ids
    assert [type(one) for one in log.actions] == [type(one) for one in ids]
    assert repr(log) == "BanditLog(rows=900, contexts=300, features=12, actions=4, loggers=['old', 'young'])"
    polars = pl.from_pandas(offers.drop(columns="every")).with_columns(
        every=pl.Series(offers["every"].tolist())
    )
    assert_same(log, ml.BanditLog.from_polars(polars, **(ONE_OF | {"action": column})))


def test_ids_from_arrays(one_of: ml.BanditLog, offers: pd.DataFrame) -> None:
    for column, ids in (("offer", OFFERS), ("number", NUMBERS)):
        for given in (offers[column], offers[column].to_numpy(), offers[column].tolist()):
            log = ml.BanditLog.from_arrays(
                one_of.x,
                given,
                loss=one_of.loss,
                log_propensity=one_of.log_propensity,
                log_propensities=one_of.log_propensities,
                logger=one_of.logger,
                context=one_of.context,
            )
            assert_chosen_as(log, one_of)
            assert log.actions == ids


def test_all_possible_actions_in_the_given_order(offers: pd.DataFrame) -> None:
    ids = ["zinc", "tea", "soap", "rum", "jam"]
    log = ml.BanditLog.from_pandas(offers, actions=ids, **ONE_OF)
    assert (log.actions, log.space) == (tuple(ids), OneOf(5))
    np.testing.assert_array_equal(np.array(ids)[log.action], offers["offer"])
    assert not (log.action == 2).any()
    numbers = ml.BanditLog.from_pandas(offers, actions=np.array(NUMBERS), **(ONE_OF | {"action": "number"}))
    assert numbers.actions == NUMBERS
    assert all(type(one) is int for one in numbers.actions)


def test_one_column_of_0_and_1_is_a_choice_and_a_list_of_it_is_a_label(offers: pd.DataFrame) -> None:
    frame = offers.assign(flag=offers["is_tea"].astype(int))
    choice = ml.BanditLog.from_pandas(frame, **(ONE_OF | {"action": "flag"}))
    assert (choice.space, choice.actions, choice.action.shape) == (OneOf(2), (0, 1), (900,))
    label = ml.BanditLog.from_pandas(frame, **(ONE_OF | {"action": ["flag"]}))
    assert (label.space, label.actions, label.action.shape) == (Labels(1), ("flag",), (900, 1))
    truth = ml.BanditLog.from_pandas(frame, **(ONE_OF | {"action": "is_tea"}))
    assert truth.actions == (False, True)
    assert truth.actions[1] is True
    np.testing.assert_array_equal(truth.action, frame["flag"])


@pytest.mark.parametrize("column", ["offer", "number", "is_tea"])
def test_a_file_of_ids_comes_back_as_it_was(offers: pd.DataFrame, column: str, tmp_path: Path) -> None:
    actions = {"offer": ["tea", "rum", "soap", "zinc", "jam"], "number": None, "is_tea": None}[column]
    log = ml.BanditLog.from_pandas(offers, **(ONE_OF | {"action": column, "actions": actions}))
    log.to_parquet(tmp_path / "log.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path / "log.parquet"))
    named = ml.BanditLog.from_parquet(tmp_path / "log.parquet", logger="logger")
    assert named.actions == log.actions
    assert [type(one) for one in named.actions] == [type(one) for one in log.actions]
    np.testing.assert_array_equal(named.action, log.action)


def test_a_file_of_ids_holds_numbers_and_names(offers: pd.DataFrame, tmp_path: Path) -> None:
    ml.BanditLog.from_pandas(offers, **ONE_OF).to_parquet(tmp_path / "log.parquet")
    table = pq.read_table(tmp_path / "log.parquet")
    assert table.schema.field("action").type == pa.int32()
    assert json.loads(table.schema.metadata[b"actions"]) == list(OFFERS)
    assert space_of(table.schema) == OneOf(4)


def test_files_with_other_actions_do_not_mix(offers: pd.DataFrame, tmp_path: Path) -> None:
    few, columns = offers[offers["offer"] != "jam"], ONE_OF | {"context": None}
    for name, rows in (("one", offers), ("two", few)):
        ml.BanditLog.from_pandas(rows, **columns).to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(ml.BadInput, match=r"one\.parquet and .*two\.parquet have different actions; write"):
        ml.BanditLog.from_parquet(tmp_path)
    ml.BanditLog.from_pandas(few, actions=OFFERS, **columns).to_parquet(tmp_path / "two.parquet")
    both = ml.BanditLog.from_parquet(tmp_path)
    np.testing.assert_array_equal(np.array(both.actions)[both.action], [*offers["offer"], *few["offer"]])


def test_a_number_that_the_schema_does_not_name(offers: pd.DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "log.parquet"
    ml.BanditLog.from_pandas(offers, **ONE_OF).to_parquet(place)
    table = pq.read_table(place)
    numbers = table.column("action").to_numpy().copy()
    numbers[5] = 4
    pq.write_table(table.set_column(table.column_names.index("action"), "action", pa.array(numbers)), place)
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_parquet(place)
    assert str(caught.value) == (
        "the log, row 5: action 4 is not the number of one of the 4 actions of the schema; write the file "
        "again"
    )


def test_a_log_of_replay_has_its_numbers_for_ids(one_of: ml.BanditLog, tmp_path: Path) -> None:
    assert one_of.log_propensities is not None
    rows = LogRows(
        one_of.context.astype(np.int32),
        one_of.action,
        one_of.loss,
        one_of.log_propensity,
        one_of.log_propensities,
        np.arange(len(one_of)) % 4 == 0,
    )
    pq.write_table(to_table(rows, log_schema(OneOf(4), 2)), tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet").append_column("logger", pa.array(one_of.logger))
    pq.write_table(table, tmp_path / "rows.parquet")
    x = np.asarray(one_of.x)
    log = ml.BanditLog.from_parquet(
        tmp_path / "rows.parquet", contexts=pd.DataFrame({f"x{i}": x[:, i] for i in range(x.shape[1])})
    )
    assert log.actions == (0, 1, 2, 3)
    np.testing.assert_array_equal(log.action, one_of.action)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"actions": ["jam", "rum", "tea"]},
            "is not one of the 3 actions 'jam', 'rum', 'tea'; mend it, or list it among all possible actions",
        ),
        (
            {"action": "number", "actions": ["2", "7", "10", "30"]},
            " is not one of the 4 actions '2', '7', '10'",
        ),
        ({"actions": "tea"}, "actions must be a list of all possible actions, got 'tea'"),
        ({"actions": ["tea", 1]}, "actions must be of one kind, got int and str; cast them to one"),
        ({"actions": [1.5, 2.5]}, "actions must hold whole numbers, words or booleans, got 1.5; mend it"),
        ({"actions": ["tea", "jam", "tea"]}, "actions must be listed once each, got 'tea' twice or more"),
        ({"actions": ["tea"]}, "a choice needs two actions or more, got 1; list all possible ones"),
        (
            {"action": "same"},
            "action is 'tea' in every row; a choice needs two actions or more: list all possible ones",
        ),
        (
            {"action": "pscore"},
            "action must hold whole numbers, words or booleans, or lists of 0 and 1, got d",
        ),
        ({"action": "gap"}, "column 'action' is missing in 1 rows; fill it in or drop them"),
        ({"action": "half"}, "column 'action' is missing in 1 rows; fill it in or drop them"),
        (
            {"reward": None, "loss": "number"},
            "above the largest loss 1; say the largest possible one with max",
        ),
    ],
)
def test_bad_ids(offers: pd.DataFrame, changed: dict[str, Any], message: str) -> None:
    first = np.arange(len(offers)) == 0
    frame = offers.assign(
        same="tea",
        gap=offers["offer"].where(~first, None),
        half=offers["number"].astype(float).where(~first, np.nan),
    )
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_pandas(frame, **(ONE_OF | changed))
    assert message in str(caught.value)


def test_an_id_that_is_not_listed_is_told_by_row_and_value(offers: pd.DataFrame) -> None:
    frame = offers.assign(offer=offers["offer"].where(offers.index != 4, "sugar"))
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_pandas(frame, actions=OFFERS, **ONE_OF)
    assert str(caught.value) == (
        "the log, row 4: action 'sugar' is not one of the 4 actions 'jam', 'rum', 'tea', 'zinc'; mend it, or "
        "list it among all possible actions"
    )


def test_a_split_of_choices(offers: pd.DataFrame) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    truth = offers.drop_duplicates("id").sort_values("id")["best"]
    train, test = log.with_truth(truth).split(0.3, seed=1)
    assert train.space == test.space == OneOf(4)
    assert train.actions == test.actions == OFFERS
    assert train.truth is not None
    right = train.truth[train.context] == train.action
    np.testing.assert_array_equal(right, train.loss == 0.0)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (["jam"] * 2, "truth must be (contexts,) = (300,), got (2,)"),
        (
            ["ham"] * 300,
            "the array, row 0: truth 'ham' is not one of the 4 actions 'jam', 'rum', 'tea', 'zinc'",
        ),
        (np.zeros((300, 4)), "truth must be one id per row, whole numbers or words (only handle 1-dim"),
    ],
)
def test_bad_truth_of_choices(offers: pd.DataFrame, truth: Any, message: str) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    with pytest.raises(ml.BadInput) as caught:
        log.with_truth(truth)
    assert message in str(caught.value)
