"""`BanditLog.from_coba`: logged interactions of Coba."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import multilogger as ml


class Category(str):
    """A kind of word, as Coba's own."""


def interaction(**changed: Any) -> dict[str, Any]:
    return {
        "context": {"age": 30, "city": "rome"},
        "actions": ["tea", "rum", "jam"],
        "action": Category("rum"),
        "reward": 1,
        "probability": 0.5,
    } | changed


def rows() -> Iterator[dict[str, Any]]:
    """Three rows; the second context lacks the age, the third the city; actions in any order."""
    yield interaction()
    yield interaction(context={"city": "oslo"}, reward=0, action="tea", probability=0.25)
    yield interaction(context={"age": 41.5}, reward=0.5, actions=["jam", "tea", "rum"])


def test_rows_by_hand() -> None:
    log = ml.BanditLog.from_coba(rows())
    assert repr(log) == "BanditLog(rows=3, contexts=3, features=4, actions=3, loggers=['logger'])"
    assert log.actions == ("tea", "rum", "jam")
    np.testing.assert_array_equal(log.action, [1, 0, 1])
    np.testing.assert_allclose(log.loss, [0, 1, 0.5])
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.25, 0.5])
    assert log.columns.names == ("age", "city=", "city=oslo", "city=rome")
    expected = np.array([[30, 0, 0, 1], [0, 0, 1, 0], [41.5, 1, 0, 0]])
    np.testing.assert_allclose(np.asarray(log.x), expected)


def test_lists_single_values_and_other_actions() -> None:
    pairs = [
        interaction(context=(1, 2), action=(0, 1), actions=[(1, 0), (0, 1)], by="a", reward=r) for r in (0, 1)
    ]
    log = ml.BanditLog.from_coba(
        [*pairs, interaction(context=7, action=(1, 0), actions=None, by="b")], logger="by"
    )
    assert log.actions == ("(1, 0)", "(0, 1)")
    assert log.columns.names == ("x0", "x1")
    assert log.loggers == ("a", "b")
    np.testing.assert_allclose(np.asarray(log.x), [[1, 2], [1, 2], [7, 0]])


def test_actions_are_those_taken_where_none_are_said() -> None:
    log = ml.BanditLog.from_coba([interaction(actions=None, action=a, reward=a % 2) for a in (3, 1, 4)])
    assert log.actions == (1, 3, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there are no interactions; give at least one"),
        ([interaction(), 3], "interaction 1 must be a dict, got int"),
        (
            [interaction(probability=None)],
            "interaction 0 has no probability; log the probability with which the action was taken",
        ),
        (
            [interaction(), {"context": 1, "rewards": [0, 1]}],
            "interaction 1 has no action and no reward and no probability; it needs context, action, reward, "
            "probability",
        ),
        ([interaction(context=None)], "the interactions have no features in their contexts; a policy needs"),
        (
            [interaction(context={"tags": ["a", "b"]})],
            "interaction 0: feature tags must be a number or a word, got list; give lists and dicts item by "
            "item",
        ),
        (
            [interaction(), interaction(context={"city": 3})],
            "interaction 1: feature city is a number, in interaction 0 it is a word; make it one of them",
        ),
        (
            [interaction(), interaction(actions=["tea", "rum"])],
            "interaction 1: every interaction must offer the same actions, 'jam' is not in all; learn from "
            "those that offer the same ones",
        ),
        ([interaction(reward="much")], "interaction 0: reward must be a number, got 'much'; mend it"),
        (
            [interaction(context={"action": 1})],
            "a feature of the context is called 'action', as is a part of the log; rename it",
        ),
        (
            [interaction(), interaction(action="gin")],
            "the log, row 1: action 'gin' is not one of the 3 actions",
        ),
    ],
)
def test_bad_interactions(given: Any, message: str) -> None:
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_coba(given)
    assert str(caught.value).startswith(message)


def test_the_key_of_the_logger_must_be_there() -> None:
    with pytest.raises(
        ml.BadInput, match="interaction 0 has no who; it needs context, action, reward, probability, who"
    ):
        ml.BanditLog.from_coba([interaction()], logger="who")
