"""Columns of mixed kinds to features: learned from a log, the same for frames and batches, and kept."""

import datetime as dt
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import issparse

import multilogger as ml
from multilogger.components.errors import BadInput
from multilogger.components.features.column import Kind, bucket_of
from multilogger.components.features.columns import FeatureColumns, UnseenValues
from multilogger.components.features.frames import Rows, to_arrow
from multilogger.components.features.learn_encoding import EncodingLearner, Limits, learn_columns
from multilogger.components.log.memory import densify

NOON = dt.datetime(2026, 11, 18, 12)  # a Wednesday


def table(**changes: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "age": pa.array([20.0, None, 40.0, 30.0]),
        "member": pa.array([True, False, True, True]),
        "country": pa.array(["fr", "de", None, "fr"]),
        "at": pa.array([NOON, NOON + dt.timedelta(days=1), NOON + dt.timedelta(days=2), NOON]),
        "pair": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]),
    }
    return pa.table(columns | changes)


def learned(names: list[str], limits: Limits | None = None, **changes: Any) -> FeatureColumns:
    return learn_columns(Rows(table(**changes)), names, limits).columns


def test_numbers_take_the_mean_and_say_what_is_missing() -> None:
    columns = learned(["age"])
    assert columns.names == ("age", "age is missing")
    np.testing.assert_array_equal(columns.read(Rows(table())), [[20, 0], [30, 1], [40, 0], [30, 0]])


def test_words_have_a_feature_each_and_one_for_what_is_missing() -> None:
    columns = learned(["country"])
    assert columns.names == ("country=de", "country=fr", "country is missing")
    np.testing.assert_array_equal(columns.read(Rows(table())), [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_many_words_are_hashed() -> None:
    columns = learned(["country"], Limits(words=1, buckets=8))
    assert columns.columns[0].kind is Kind.HASHED
    x = columns.read(Rows(table()))
    assert x.shape == (4, 9)
    assert x[0].argmax() == x[3].argmax() == bucket_of("fr", 8)
    assert x[2].argmax() == 8
    assert bucket_of("fr", 256) == 206  # policies are kept: it must never change


def test_times_are_late_or_early_and_of_an_hour_and_a_weekday() -> None:
    columns = learned(["at"])
    x = columns.read(Rows(table()))
    np.testing.assert_allclose(x[:, 0], [0, 0.5, 1, 0])
    np.testing.assert_allclose(x[:, 1:3], np.tile([0.0, -1.0], (4, 1)), atol=1e-6)  # noon, half a circle
    angle = 2 * np.pi * (2.5 / 7)  # Wednesday noon, from Monday
    np.testing.assert_allclose(x[0, 3:], [np.sin(angle), np.cos(angle)], rtol=1e-5)


def test_a_time_has_the_same_features_in_every_unit_and_zone() -> None:
    columns = learned(["at"])
    for kind in (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin")):
        other = table(at=table().column("at").cast(kind))
        np.testing.assert_allclose(columns.read(Rows(other)), columns.read(Rows(table())), atol=1e-6)


def test_times_outside_of_the_log_count_as_its_ends_and_are_told() -> None:
    columns = learned(["at"], at=pa.array([NOON, NOON + dt.timedelta(days=1)] * 2))
    days = [-400, 0, 2, 3650]
    new = Rows(table(at=pa.array([NOON + dt.timedelta(days=day) for day in days])), "the frame")
    with pytest.warns(UnseenValues) as caught:
        x = columns.read(new)
    np.testing.assert_array_equal(x[:, 0], [0, 0, 1, 1])
    assert np.abs(x).max() <= 1.0  # whatever the time, no feature grows
    assert str(caught[0].message) == (
        "the frame: 'at' is outside of the times of the log, such as 2025-10-14T12:00:00, in 3 rows; "
        "the policy takes them for the nearest time of the log"
    )


def test_a_column_of_times_may_be_late_and_missing() -> None:
    columns = learned(["at"], at=pa.array([NOON, NOON + dt.timedelta(days=1)] * 2))
    new = Rows(table(at=pa.array([None, NOON, NOON, NOON + dt.timedelta(days=9)])), "the frame")
    with pytest.warns(UnseenValues, match=r"'at' is missing in 1 rows; 'at' is outside .*, in 1 rows"):
        columns.read(new)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (
            "at",
            ["2026-01-05T10:00", "yesterday"] * 2,
            "must hold times, such as 2026-01-05T10:00:00 (Failed to",
        ),
        ("at", [1, 2, 3, 4], "the frame: column 'at' must hold times, got numbers; cast it to a timestamp"),
        (
            "at",
            [True] * 4,
            "the frame: column 'at' must hold times, such as 2026-01-05T10:00:00 (Unsupported",
        ),
        (
            "country",
            [{"a": 1}] * 4,
            "the frame: column 'country' must hold words (Unsupported cast from stru",
        ),
    ],
)
def test_a_frame_of_other_kinds_than_the_log_is_refused(name: str, values: list[Any], message: str) -> None:
    columns = learned(["at", "country"])
    new = Rows(table(**{name: pa.array(values)}), "the frame")
    with pytest.raises(BadInput) as caught:
        columns.read(new)
    assert message in str(caught.value)


def test_booleans_and_lists_are_numbers() -> None:
    columns = learned(["member", "pair"])
    assert columns.names == ("member", "pair0", "pair1")
    np.testing.assert_array_equal(columns.read(Rows(table()))[:2], [[1, 1, 2], [0, 3, 4]])


def test_sparse_and_dense_are_the_same_features() -> None:
    columns = learned(["age", "member", "country", "at", "pair"])
    thin, unseen = columns.assemble(Rows(table()), as_sparse=True)
    assert issparse(thin)
    assert not unseen
    np.testing.assert_array_equal(densify(thin), columns.read(Rows(table())))


def test_learned_in_parts_as_in_one() -> None:
    names = ["age", "member", "country", "at", "pair"]
    learner = EncodingLearner(names)
    for start in range(0, 4, 2):
        learner.add(Rows(table().slice(start, 2)))
    assert learner.columns == learned(names)


def test_encoding_goes_through_json() -> None:
    columns = learned(["age", "member", "country", "at", "pair"])
    assert FeatureColumns.from_json(columns.to_json()) == columns


def test_encodings_of_older_policies_can_be_read() -> None:
    old = [
        {"name": "age", "width": 1, "categories": None},
        {"name": "country", "width": 2, "categories": ["de", "fr"]},
    ]
    x = FeatureColumns.from_json(old).read(Rows(table(age=[1, 2, 3, 4], country=["de", "fr", "fr", "de"])))
    np.testing.assert_array_equal(x, [[1, 1, 0], [2, 0, 1], [3, 0, 1], [4, 1, 0]])


def test_what_was_never_seen_is_told() -> None:
    columns = learned(["age", "country"], age=[20.0, 30, 40, 30], country=["fr", "de", "de", "fr"])
    new = Rows(table(age=[None, 1.0, 2, 3], country=["xx", "de", None, "yy"]), "the frame")
    with pytest.warns(UnseenValues) as caught:
        x = columns.read(new)
    assert str(caught[0].message) == (
        "the frame: 'age' is missing in 1 rows; 'country' is not among those of the log, such as 'xx' in 3 "
        "rows; "
        "the policy takes them for none or for the mean"
    )
    np.testing.assert_array_equal(x[0], [30, 0, 0])


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (["nowhere"], {}, "cannot read features: the log has no column 'nowhere', only age, member, country"),
        ([], {}, "features needs one or more names of columns, got none"),
        (["age"], {"age": pa.array([None] * 4, pa.float64())}, "column 'age' is missing in every row; leave"),
        (["age"], {"age": [1.0, np.inf, 2.0, 3.0]}, "row 1: 'age' is inf, infinite or too large"),
        (["age"], {"age": [b"a", b"b", b"c", b"d"]}, "column 'age' must hold numbers"),
    ],
)
def test_bad_columns(names: list[str], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ml.BadInput) as caught:
        learned(names, **changes).read(Rows(table(**changes)))
    assert message in str(caught.value)


def test_a_column_is_of_one_kind() -> None:
    learner = EncodingLearner(["age"])
    learner.add(Rows(table()))
    with pytest.raises(ml.BadInput, match="'age' holds words, and number in other files; cast it to one"):
        learner.add(Rows(table(age=["a", "b", "c", "d"]), "two.parquet"))


def test_each_column_is_told_in_a_line() -> None:
    columns = learned(["age", "member", "country", "at", "pair"])
    assert [column.sentence for column in columns.columns] == [
        "age: a number, as it is; what is missing takes the mean 30, and one more feature says so",
        "member: true or false, as 1 or 0",
        "country: 2 words, one feature each; what is missing is 0, and one more feature says so",
        "at: a time, as how late it is in the log, at most its end, hour of day and day of week",
        "pair: 2 numbers, as they are",
    ]


def test_two_columns_of_one_name() -> None:
    """Of pandas and of Arrow: neither says which is meant."""
    twice = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["age", "age"])
    with pytest.raises(
        BadInput, match=r"columns of the frame have the same name .*'age'.*; give each its own"
    ):
        to_arrow(twice)
    with pytest.raises(
        BadInput, match="the frame has 2 columns that are called 'age'; give each its own name"
    ):
        to_arrow(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["age", "age"]))


def test_the_warning_of_unseen_values_points_to_who_gave_them() -> None:
    """Whatever of the package stands between."""
    frame = pd.DataFrame({"item": ["jam", "tea"] * 20, "click": [0, 1] * 20, "land": ["de", "fr"] * 20})
    log = ml.BanditLog.from_pandas(frame.assign(pscore=0.5), action="item", reward="click", features="land")
    policy = ml.Naive(epochs=1, hidden=(4,)).fit(log)
    new = frame.head(2).assign(land="it", pscore=0.5)
    for give in (
        lambda: policy.predict_proba(new),
        lambda: policy.policy_.decide(new, 0),
        lambda: ml.BanditLog.from_pandas(new, action="item", reward="click", features=log.columns),
    ):
        with pytest.warns(UnseenValues) as caught:
            give()
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([["de"], ["fr"]]), "features themselves, numbers alone (could not convert string to float"),
        (np.array([[None], [{}]], dtype=object), "give raw columns as a data frame with their names"),
        (np.zeros((1, 1, 1)), "an array of features is (rows, features), got shape (1, 1, 1); reshape it"),
    ],
)
def test_an_array_that_holds_no_features(x: np.ndarray, message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        FeatureColumns.numbered(1)(x)
