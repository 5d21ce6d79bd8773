"""Ids of actions: numbers inside, what a person calls them outside."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.errors import BadInput
from multilogger.components.log.action_ids import (
    check_ids,
    choices,
    id_column,
    ids_of,
    number_ids,
    places_of,
    size_word,
    usual_ids,
)


def test_numbers_worked_by_hand() -> None:
    decisions = choices(pa.chunked_array([["tea", "jam"], ["tea"]]), None, "the log")
    assert decisions.action.tolist() == [1, 0, 1]
    assert (decisions.names, decisions.space) == (("jam", "tea"), OneOf(2))
    listed = choices(pa.chunked_array([[10, 2]]), [10, 3, 2], "the log")
    assert (listed.action.tolist(), listed.names) == ([0, 2], (10, 3, 2))


@pytest.mark.parametrize(
    "values",
    [[2, 10, 2], ["b", "a", "b"], [True, False, True], ["", "a", "ä"]],
    ids=["numbers", "words", "booleans", "odd words"],
)
def test_ids_survive_the_way_in_and_out(values: list[Any]) -> None:
    ways = (values, tuple(values), np.array(values), pd.Series(values), pd.Series(values, dtype="category"))
    for given in ways:
        numbers, ids = number_ids(id_column(given, "action"), None, "action", "the log")
        assert list(ids) == sorted(set(values))
        back = ids_of(numbers, ids, OneOf(len(ids))).tolist()
        assert back == values
        assert [type(one) for one in back] == [type(one) for one in values]


def test_ids_that_numpy_would_make_fractions_of() -> None:
    large = np.array([2**63, 1], dtype=np.uint64)
    assert number_ids(id_column(large, "action"), None, "action", "the log")[1] == (1, 2**63)
    ids = (-1, 2**63)
    assert ids_of(np.array([1, 0, 1]), ids, OneOf(2)).tolist() == [2**63, -1, 2**63]


def test_label_vectors_have_no_ids() -> None:
    labels = np.array([[0, 1], [1, 1]], dtype=np.uint8)
    assert ids_of(labels, ("a", "b"), Labels(2)) is labels


def test_what_nobody_named() -> None:
    assert usual_ids(Labels(2)) == ("action_0", "action_1")
    assert usual_ids(OneOf(3)) == (0, 1, 2)
    assert (size_word(Labels(2)), size_word(OneOf(3))) == ("labels", "actions")


def test_a_boolean_is_no_number_and_a_number_no_word() -> None:
    assert places_of([True, 1, "1", 1.0], (1, 2)).tolist() == [-1, 0, -1, 0]
    assert places_of([True, 1, 0], (False, True)).tolist() == [1, -1, -1]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (3, "actions must be a list of all possible actions, got 3"),
        ("ab", "actions must be a list of all possible actions, got 'ab'"),
        ([1, None], "actions must hold whole numbers, words or booleans, got None; mend it"),
        ([1, True], "actions must be of one kind, got bool and int; cast them to one"),
        ([1, 2, 1], "actions must be listed once each, got 1 twice or more"),
        ([], "a choice needs two actions or more, got 0; list all possible ones"),
    ],
)
def test_bad_lists(listed: Any, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_ids(listed)
    assert str(caught.value) == message


def test_lists_of_any_library() -> None:
    for listed in (range(3), np.arange(3), pd.Series([0, 1, 2]), (0, 1, 2)):
        ids = check_ids(listed)
        assert ids == (0, 1, 2)
        assert all(type(one) is int for one in ids)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1.0, 2.0],
            "action must hold whole numbers, words or booleans, or lists of 0 and 1, got double; cast it",
        ),
        (np.array([1.0, np.nan]), "column 'action' is missing in 1 rows; fill it in or drop them"),
        (["a", None], "column 'action' is missing in 1 rows; fill it in or drop them"),
        (
            ["a", "a"],
            "action is 'a' in every row; a choice needs two actions or more: list all possible ones wi",
        ),
        ([1, "a"], "action must be one id per row, whole numbers or words ("),
        ([2**70, 1], "action must be one id per row, whole numbers or words (Python int too large"),
        (np.zeros((2, 2)), "action must be one id per row, whole numbers or words ("),
    ],
)
def test_bad_columns(values: Any, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        choices(id_column(values, "action"), None, "the log")
    assert message in str(caught.value)


def test_an_unlisted_id_is_told_by_row_and_value() -> None:
    with pytest.raises(BadInput) as caught:
        number_ids(id_column([0, 1, 9], "action"), (0, 1, 2, 3, 4, 5), "action", "the log")
    assert str(caught.value) == (
        "the log, row 2: action 9 is not one of the 6 actions 0, 1, 2, 3, 4, ...; mend it, or list it among "
        "all possible actions"
    )
