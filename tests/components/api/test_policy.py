"""Policies on frames and arrays, and their folders."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import multilogger as ml
from multilogger.components.actions.one_of import OneOf
from multilogger.components.api.policy import as_policy
from tests.components.api.conftest import NUMBERS, OFFERS
from tests.components.api.test_bandit_log import COLUMNS, ONE_OF


@pytest.fixture(scope="module")
def fitted(frame: pd.DataFrame) -> ml.Learner:
    return ml.Weighted(epochs=2, hidden=(8,)).fit(ml.BanditLog.from_pandas(frame, **COLUMNS))


def test_a_frame_and_its_features_give_the_same(fitted: ml.Learner, frame: pd.DataFrame) -> None:
    x = np.column_stack(
        [frame["age"], frame["height"], frame["country"] == "at", frame["country"] == "de"]
    ).astype(np.float32)
    for other in (x, pl.from_pandas(frame[["country", "height", "age"]])):
        np.testing.assert_array_equal(fitted.predict_proba(frame), fitted.predict_proba(other))
    assert fitted.actions == tuple(f"action_{i}" for i in range(6))


def test_draws_follow_the_probabilities(fitted: ml.Learner, frame: pd.DataFrame) -> None:
    drawn = fitted.sample(frame, rng=0)
    np.testing.assert_array_equal(drawn, fitted.sample(frame, np.random.default_rng(0)))
    p = fitted.predict_proba(frame)
    error = np.sqrt((p * (1 - p)).sum(axis=0))
    assert (np.abs(drawn.sum(axis=0) - p.sum(axis=0)) < 4 * error).all()
    chances = np.where(drawn == 1, p, 1 - p).prod(axis=1)
    np.testing.assert_allclose(fitted.policy_.log_proba(frame, drawn), np.log(chances))


def test_a_saved_policy_comes_back(fitted: ml.Learner, frame: pd.DataFrame, tmp_path: Path) -> None:
    fitted.save(tmp_path / "new" / "policy")
    policy = ml.load_policy(tmp_path / "new" / "policy")
    assert repr(policy) == "Policy(method='weighted', features=4, labels=6)"
    assert policy.actions == fitted.actions
    np.testing.assert_array_equal(policy.predict_proba(frame), fitted.predict_proba(frame))


def test_a_policy_of_the_command_line_has_numbered_features(
    fitted: ml.Learner, frame: pd.DataFrame, tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    (tmp_path / "columns.json").unlink()
    policy = ml.load_policy(tmp_path)
    assert policy.columns.names == ("x0", "x1", "x2", "x3")
    x = fitted.policy_.columns(frame)
    np.testing.assert_array_equal(policy.predict(x), fitted.predict(frame))


def test_words_that_are_new_have_no_feature(fitted: ml.Learner, frame: pd.DataFrame) -> None:
    new = frame.head(1).assign(country="ch")
    x = np.array([[new["age"].iloc[0], new["height"].iloc[0], 0, 0]], dtype=np.float32)
    with pytest.warns(UserWarning, match="'country' is not among those of the log, such as 'ch' in 1 rows"):
        found = fitted.predict_proba(new)
    np.testing.assert_array_equal(found, fitted.predict_proba(x))


def test_what_a_policy_refuses(
    fitted: ml.Learner, frame: pd.DataFrame, replayed: ml.BanditLog, tmp_path: Path
) -> None:
    with pytest.raises(ml.BadInput, match="the frame has no column 'age', only height"):
        fitted.predict(frame[["height", "country"]])
    with pytest.raises(
        ml.BadInput, match="the policy takes 4 features, got an array of 2 columns; give age,"
    ):
        fitted.predict(np.zeros((1, 2)))
    with pytest.raises(ml.BadInput, match=r"has no policy\.json and no policy.safetensors"):
        ml.load_policy(tmp_path)
    with pytest.raises(ml.BadInput, match="a policy of LinearPolicy cannot be saved"):
        replayed.logger_policies[0].save(tmp_path)


@pytest.fixture(scope="module", params=["offer", "number", "is_tea"])
def chooser(offers: pd.DataFrame, request: pytest.FixtureRequest) -> ml.Learner:
    log = ml.BanditLog.from_pandas(offers, **(ONE_OF | {"action": request.param}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three epochs may be too few for the guard
        return ml.Weighted(epochs=3, hidden=(8,)).fit(log)


def test_ids_come_out_as_they_went_in(chooser: ml.Learner, offers: pd.DataFrame, tmp_path: Path) -> None:
    chooser.save(tmp_path)
    for policy in (chooser.policy_, ml.load_policy(tmp_path)):
        p = policy.predict_proba(offers)
        assert p.shape == (900, len(policy.actions))
        assert policy.space == OneOf(len(policy.actions))
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        for values in (policy.predict(offers), policy.sample(offers, 0)):
            assert {type(one) for one in values.tolist()} == {type(policy.actions[0])}
            assert set(values.tolist()) <= set(policy.actions)
        best = np.array(policy.actions)[p.argmax(axis=1)]
        np.testing.assert_array_equal(policy.predict(offers), best)
        np.testing.assert_array_equal(policy.predict(policy.columns(offers)), best)
        np.testing.assert_array_equal(
            policy.sample(offers, 0), chooser.sample(offers, np.random.default_rng(0))
        )
    assert chooser.actions in (OFFERS, NUMBERS, (False, True))
    assert ml.load_policy(tmp_path).actions == chooser.actions


def test_draws_of_ids_follow_the_probabilities(chooser: ml.Learner, offers: pd.DataFrame) -> None:
    p, drawn = chooser.predict_proba(offers), chooser.sample(offers, rng=1)
    counts = np.array([(drawn == one).sum() for one in chooser.actions])
    error = np.sqrt((p * (1 - p)).sum(axis=0))
    assert (np.abs(counts - p.sum(axis=0)) < 4 * error).all()
    place = [chooser.actions.index(one) for one in drawn.tolist()]
    for given in (drawn, drawn.tolist(), pd.Series(drawn)):
        log_p = chooser.policy_.log_proba(offers, given)
        np.testing.assert_allclose(log_p, np.log(p[np.arange(900), place]))


def test_a_policy_of_the_command_line_has_numbered_actions(
    offers: pd.DataFrame, one_of: ml.BanditLog, tmp_path: Path
) -> None:
    learner = ml.Weighted(epochs=1, hidden=(4,)).fit(ml.BanditLog.from_pandas(offers, **ONE_OF))
    learner.save(tmp_path)
    (tmp_path / "columns.json").unlink()
    policy = ml.load_policy(tmp_path)
    assert policy.actions == (0, 1, 2, 3)
    assert repr(policy) == "Policy(method='weighted', features=12, actions=4)"
    np.testing.assert_array_equal(np.array(OFFERS)[policy.predict(one_of.x)], learner.predict(one_of.x))


def test_names_of_another_number_of_actions(offers: pd.DataFrame, tmp_path: Path) -> None:
    learner = ml.Weighted(epochs=1, hidden=(4,)).fit(ml.BanditLog.from_pandas(offers, **ONE_OF))
    learner.save(tmp_path)
    place = tmp_path / "columns.json"
    place.write_text(place.read_text().replace('"jam",', ""))
    with pytest.raises(
        ml.BadInput, match=r"columns.json names 3 actions, policy.json has 4; save the policy"
    ):
        ml.load_policy(tmp_path)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            ["ham"] * 900,
            "the array, row 0: action 'ham' is not one of the 4 actions 'jam', 'rum', 'tea', 'zinc'",
        ),
        ([2] * 900, "the array, row 0: action 2 is not one of the 4 actions 'jam', 'rum', 'tea', 'zinc'"),
        (["jam"] * 3, "policy and actions must have the same rows, got 900 and 3"),
        (["jam", None] * 450, "column 'action' is missing in 450 rows; fill it in or drop them"),
        ([["jam"]] * 900, "action must hold whole numbers, words or booleans, or lists of 0 and 1, got list"),
        (["jam", 1] * 450, "action must be one id per row, whole numbers or words ("),
    ],
)
def test_ids_that_a_policy_does_not_know(offers: pd.DataFrame, action: Any, message: str) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    policy = as_policy(Given(np.full((300, 4), 0.25)), log)
    with pytest.raises(ml.BadInput) as caught:
        replace(policy, model=Flat()).log_proba(offers, action)
    assert message in str(caught.value)


class Flat:
    def logits(self, x: Any) -> Any:
        return np.zeros((x.shape[0], 4))


class Given:
    """A policy of somebody else with fixed probabilities, and classes if they are given."""

    def __init__(self, p: Any, classes: Any = None) -> None:
        self.p = p
        if classes is not None:
            self.classes_ = classes

    def predict_proba(self, _: object) -> Any:
        return self.p


def test_columns_of_a_classifier_are_found_by_its_classes(offers: pd.DataFrame) -> None:
    log = ml.BanditLog.from_pandas(offers, actions=["zinc", "jam", "soap", "tea", "rum"], **ONE_OF)
    x = np.asarray(log.x)[log.context]
    model = LogisticRegression().fit(x, offers["offer"])
    p = as_policy(model, log).predict_proba(x)
    for own, name in enumerate(log.actions):
        if name == "soap":
            assert (p[:, own] < 1e-6).all()
        else:
            column = model.predict_proba(x)[:, model.classes_.tolist().index(name)]
            np.testing.assert_allclose(p[:, own], column, atol=1e-6)
    with_them = log.with_logger_policies({"young": model, "old": model})
    np.testing.assert_array_equal(with_them.logger_policies[0].predict(x), model.predict(x))
    numbers = ml.BanditLog.from_pandas(offers, **(ONE_OF | {"action": "number"}))
    by_number = LogisticRegression().fit(x, offers["number"])
    np.testing.assert_allclose(
        as_policy(by_number, numbers).predict_proba(x), by_number.predict_proba(x), atol=1e-6
    )


@pytest.mark.parametrize(
    ("p", "classes", "message"),
    [
        (
            np.full((300, 3), 1 / 3),
            None,
            "an array (rows, actions) = (300, 4), got shape (300, 3); wrap it so that",
        ),
        (
            np.full((300, 4), 0.25),
            ["jam", "tea"],
            "an array (rows, actions) = (300, 2), got shape (300, 4); wrap",
        ),
        (np.full((300, 4), 0.5), None, "must give rows that add up to 1, got 2 in row 0; mend it"),
        (np.full((300, 4), 1.5), None, "probabilities in [0, 1], got 1.5 in row 0, column 0; mend it"),
        (
            np.full((300, 2), 0.5),
            ["jam", "ham"],
            "the classes_ of the policy must be actions of the log, got 'ham'; list it with actions=",
        ),
    ],
)
def test_what_a_foreign_chooser_must_give(offers: pd.DataFrame, p: Any, classes: Any, message: str) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    with pytest.raises(ml.BadInput) as caught:
        as_policy(Given(p, classes), log).logits(log.x)
    assert message in str(caught.value)


def test_actions_in_another_order_are_matched_by_id(offers: pd.DataFrame) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    learner = ml.Weighted(epochs=1, hidden=(4,)).fit(log)
    turned = ml.BanditLog.from_pandas(offers, actions=OFFERS[::-1], **ONE_OF)
    policy = as_policy(learner, turned)
    assert policy.actions == OFFERS[::-1]
    np.testing.assert_allclose(
        policy.predict_proba(offers), learner.predict_proba(offers)[:, ::-1], rtol=1e-12
    )
    np.testing.assert_array_equal(policy.predict(offers), learner.predict(offers))
    assert as_policy(learner, log) is learner.policy_


def test_policies_of_other_actions_are_refused(offers: pd.DataFrame, replayed: ml.BanditLog) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    more = ml.BanditLog.from_pandas(offers, actions=[*OFFERS, "soap"], **ONE_OF)
    learner = ml.Weighted(epochs=1, hidden=(4,)).fit(log)
    wide = ml.Weighted(epochs=1, hidden=(4,)).fit(more)
    for policy, rows, message in (
        (
            learner,
            more,
            "policy and log must have the same actions, but the policy does not know 'soap'; read a",
        ),
        (
            wide,
            log,
            "policy and log must have the same actions, but the log does not know 'soap'; read all logs",
        ),
        (
            learner,
            replayed,
            "have 12 features and 6 labels, the policy 12 and 4 actions; was the policy learned",
        ),
        (replayed.logger_policies[0], log, "12 features and 4 actions, the policy 12 and 6 labels; was the"),
    ):
        with pytest.raises(ml.BadInput) as caught:
            as_policy(policy, rows)
        assert message in str(caught.value)


def test_a_log_that_was_encoded_anew_is_refused() -> None:
    frame = pd.DataFrame(
        {
            "country": ["it", "no"] * 20,
            "item": ["a", "b", "b", "a"] * 10,
            "click": [0, 1] * 20,
            "pscore": 0.5,
        }
    )
    columns: dict[str, Any] = {"action": "item", "reward": "click", "propensity": "pscore"}
    log = ml.BanditLog.from_pandas(frame, features=["country"], **columns)
    policy = ml.Naive(epochs=1, hidden=(2,)).fit(log).policy_
    later = frame.replace({"country": {"no": "jp"}})
    with pytest.raises(ml.BadInput) as caught:
        ml.evaluate(policy, ml.BanditLog.from_pandas(later, features=["country"], **columns), bootstrap=100)
    assert str(caught.value) == (
        "the log has the feature 'country=jp' where the policy has 'country=no', as its columns were encoded "
        "anew; read the log with features=policy.columns"
    )
    with pytest.warns(UserWarning, match="'country' is not among those of the log, such as 'jp'"):
        same = ml.BanditLog.from_pandas(later, features=policy.columns, **columns)
    assert ml.evaluate(policy, same, bootstrap=100).result.rows == 40
