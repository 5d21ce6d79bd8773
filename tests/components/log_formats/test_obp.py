"""`BanditLog.from_obp`: the dict of Open Bandit Pipeline, of one logger or of several."""

from typing import Any

import numpy as np
import pytest

import multilogger as ml

Feedback = dict[str, Any]


def feedback(**changed: Any) -> Feedback:
    """Four rows as Open Bandit Pipeline has them."""
    return {
        "n_rounds": 4,
        "n_actions": 3,
        "context": np.array([[0.5, 1.0], [0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]),
        "action_context": np.eye(3),
        "action": np.array([0, 2, 2, 0]),
        "position": None,
        "reward": np.array([1, 0, 0, 1]),
        "pscore": np.array([0.5, 0.25, 0.25, 0.5]),
    } | changed


def test_one_logger_by_hand() -> None:
    log = ml.BanditLog.from_obp(feedback())
    assert repr(log) == "BanditLog(rows=4, contexts=4, features=2, actions=3, loggers=['logger'])"
    assert log.actions == (0, 1, 2)
    assert log.columns.names == ("x0", "x1")
    np.testing.assert_array_equal(log.action, [0, 2, 2, 0])
    np.testing.assert_array_equal(log.loss, [0, 1, 1, 0])
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.25, 0.25, 0.5])
    np.testing.assert_allclose(np.asarray(log.x), feedback()["context"])


def test_strata_are_loggers_and_propensities_may_be_added() -> None:
    every = [[0.5, 0.1], [0.25, 0.3], [0.7, 0.25], [0.2, 0.5]]
    log = ml.BanditLog.from_obp(feedback(stratum_idx=np.array([0, 0, 1, 1])), propensities=every)
    assert log.loggers == ("0", "1")
    np.testing.assert_array_equal(log.logger, [0, 0, 1, 1])
    assert log.log_propensities is not None
    np.testing.assert_allclose(np.exp(log.log_propensities), every)


def test_a_dict_per_logger_and_positions_as_context() -> None:
    parts = {
        "random": feedback(position=np.array([0, 1, 1, 2])),
        "bts": feedback(position=np.array([2, 2, 0, 0]), n_actions=4),
    }
    log = ml.BanditLog.from_obp(parts, reward_range=(0, 2))
    assert log.loggers == ("bts", "random")
    np.testing.assert_array_equal(log.logger, [1, 1, 1, 1, 0, 0, 0, 0])
    assert log.columns.names == ("x0", "x1", "position=0", "position=1", "position=2")
    np.testing.assert_array_equal(np.asarray(log.x)[:, 2:].argmax(axis=1), [0, 1, 1, 2, 2, 2, 0, 0])
    assert len(log.actions) == 4
    assert log.max_loss == 2.0


def test_one_position_is_no_feature() -> None:
    assert ml.BanditLog.from_obp(feedback(position=np.zeros(4, dtype=int))).columns.names == ("x0", "x1")


def without(key: str) -> Feedback:
    return {name: value for name, value in feedback().items() if name != key}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            None,
            "from_obp takes the bandit_feedback of Open Bandit Pipeline, or a mapping from each logger to "
            "its own, got NoneType",
        ),
        (
            without("pscore"),
            "bandit_feedback has no pscore; it needs context, action, reward, pscore of every row: add the "
            "probabilities with which the logger acted, or None where they were not logged",
        ),
        (
            {"a": feedback(), "b": without("reward")},
            "the bandit_feedback of b has no reward; it needs context, action, reward, pscore of every row",
        ),
        (
            feedback(context=np.zeros(4)),
            "context of bandit_feedback must be (n, d), one row of features each, got shape (4,)",
        ),
        (
            feedback(pscore=np.full((4, 3), 0.3)),
            "pscore of bandit_feedback must be (n,), the probability of each row's own action, got shape "
            "(4, 3); take that of the row's position",
        ),
        (
            {"a": feedback(), "b": feedback(context=np.zeros((4, 3)))},
            "the loggers' contexts must have the same features, got a 2, b 3; encode the rows of all loggers "
            "together: encoded apart, a column means something else in each",
        ),
        (
            {"a": feedback(position=np.arange(4)), "b": feedback()},
            "the bandit_feedback of b has no position, another logger's has; add it, or leave out both",
        ),
        (
            feedback(reward=np.array([1, 0])),
            "bandit_feedback needs one value per row everywhere, got context 4, action 4, reward 2, pscore 4 "
            "rows; mend it",
        ),
        (
            feedback(context=np.array([["a", "b"]] * 4)),
            "context must be an array of numbers (could not convert string to float: np.str_('a')); encode "
            "words first",
        ),
        (
            feedback(action=np.array([0, 3, 2, 0])),
            "the log, row 1: action 3 is not one of the 3 actions 0, 1, 2; mend it, or list it among all "
            "possible actions",
        ),
        (
            feedback(pscore=np.array([0.5, 0.0, 0.5, 0.5])),
            "the log, row 1: propensity is 0, a propensity of 0 for an action that was taken; log the "
            "probability at the time of the action",
        ),
    ],
)
def test_bad_dicts(given: Any, message: str) -> None:
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_obp(given)
    assert str(caught.value) == message


def test_propensities_that_were_not_logged_are_missing() -> None:
    log = ml.BanditLog.from_obp(feedback(pscore=None))
    assert np.isnan(log.log_propensity).all()
    both = ml.BanditLog.from_obp({"a": feedback(), "b": feedback(pscore=None)})
    assert np.isnan(both.log_propensity).tolist() == [False] * 4 + [True] * 4
