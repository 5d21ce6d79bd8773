"""The column of actions of a log: numbers, names, and what is refused."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.log.actions import ActionReader, stated_actions
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
