"""Actions of a log: numbers inside, names and ids outside, and what is refused."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.log.actions import (
    ActionReader,
    check_ids,
    id_column,
    ids_of,
    number_ids,
    one_of_decisions,
    places_of,
    size_word,
    stated_actions,
    usual_ids,
)
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.schema import ACTIONS, log_schema

NAMES = {"cat": 0, "dog": 1, "17": 2}
TEXTS = ["dog", "cat", "17", "cat"]


def read(
    values: Any,
    space: ActionSpace | None = None,
    numbers: dict[str, int] | None = None,
    stated: list[str] | None = None,
) -> list[Any]:
    metadata = None if stated is None else {ACTIONS: json.dumps(stated)}
    table = pa.table({"action": values}).replace_schema_metadata(metadata)
    chunk = ColumnBatch("day.parquet", np.arange(len(table)) + 100, table.to_batches()[0])
    found: list[Any] = ActionReader(space or OneOf(3), table.schema, "action", numbers)(chunk).tolist()
    return found


@pytest.mark.parametrize(
    "values", [[2, 0, 1], [2.0, 0.0, 1.0], ["2", "0", "1"], pa.array([2, 0, 1], pa.uint8())]
)
def test_actions_by_number(values: Any) -> None:
    assert read(values) == [2, 0, 1]


@pytest.mark.parametrize("values", [TEXTS, pa.array(TEXTS).dictionary_encode()])
def test_actions_by_name(values: Any) -> None:
    assert read(values, numbers=NAMES) == [1, 0, 2, 0]


def test_whole_numbers_may_be_names() -> None:
    assert read([17, 40, 17], OneOf(2), {"40": 0, "17": 1}) == [1, 0, 1]


def test_names_that_the_schema_has_are_matched_to_the_policys() -> None:
    """A log numbers its actions in its own order."""
    stated = ["dog", "17", "cat"]
    assert stated_actions(pa.schema([], metadata={ACTIONS: json.dumps(stated)})) == ("dog", "17", "cat")
    assert read([0, 1, 2], numbers=NAMES, stated=stated) == [1, 2, 0]
    assert read([0, 1, 2], stated=stated) == [0, 1, 2]  # a policy without names was learned on these numbers


def test_a_log_that_has_numbers_alone_is_read_by_number() -> None:
    """As `replay` writes it."""
    schema = log_schema(OneOf(3), 2)
    assert stated_actions(schema) == ("0", "1", "2")
    assert read([2, 1], numbers=NAMES, stated=["0", "1", "2"]) == [2, 1]
    assert read([2, 1], numbers={"2": 0, "1": 1, "0": 2}, stated=["0", "1", "2"]) == [0, 1]


def test_labels_as_before() -> None:
    assert read([[0, 1], [1, 1]], Labels(2)) == [[0, 1], [1, 1]]


def test_names_of_a_category_that_never_occur_do_no_harm() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["cat", "dog", "cow"]))
    assert read(column, numbers=NAMES) == [1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: read([0, 1, 3]),
            "day.parquet, row 102: an action is a whole number from 0 to 2, got 3; number the actions as "
            "those that the policy was learned on",
        ),
        (lambda: read([0, -1]), "row 101: an action is a whole number from 0 to 2, got -1;"),
        (lambda: read([0.0, 0.5]), "row 101: an action is a whole number from 0 to 2, got 0.5;"),
        (lambda: read([0.0, float("nan")]), "row 101: an action is a whole number from 0 to 2, got nan;"),
        (lambda: read(["0", "cat"]), "row 101: an action is a whole number from 0 to 2, got 'cat';"),
        (
            lambda: read(["cat", "cow"], numbers=NAMES),
            "day.parquet, row 101: an action is one of cat, dog, 17, got 'cow'; drop the row, or learn a "
            "policy that knows the action",
        ),
        (
            lambda: read(["cow"], OneOf(20), {f"a{i}": i for i in range(20)}),
            r"one of a0, a1, a2, a3, a4, a5, a6, a7, \.\.\. \(20 in all\), got 'cow'",
        ),
        (lambda: read([0, None]), "row 101: the action is missing; fill it in or drop the row"),
        (
            lambda: read([[0, 1], [1, 0]]),
            "column 'action' must hold the number or the name of one of 3 actions, got list<.*int64>; was "
            "the policy learned on this problem",
        ),
        (
            lambda: read([0, 1], Labels(2)),
            "column 'action' must hold lists of numbers, 0 or 1 of each of 2 labels, got int64; was the ",
        ),
        (
            lambda: read([0, 1], stated=["a", "b"]),
            "the log names 2 actions, the policy chooses one of 3; was the policy learned on this problem",
        ),
        (lambda: read([5], numbers=NAMES, stated=["dog", "cat"]), "row 100: .* got 5;"),
    ],
)
def test_bad_actions(call: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        call()


def test_numbers_worked_by_hand() -> None:
    decisions = one_of_decisions(pa.chunked_array([["tea", "jam"], ["tea"]]), None, "the log")
    assert decisions.action.tolist() == [1, 0, 1]
    assert (decisions.names, decisions.space) == (("jam", "tea"), OneOf(2))
    listed = one_of_decisions(pa.chunked_array([[10, 2]]), [10, 3, 2], "the log")
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
        one_of_decisions(id_column(values, "action"), None, "the log")
    assert message in str(caught.value)


def test_an_unlisted_id_is_told_by_row_and_value() -> None:
    with pytest.raises(BadInput) as caught:
        number_ids(id_column([0, 1, 9], "action"), (0, 1, 2, 3, 4, 5), "action", "the log")
    assert str(caught.value) == (
        "the log, row 2: action 9 is not one of the 6 actions 0, 1, 2, 3, 4, ...; mend it, or list it among "
        "all possible actions"
    )
