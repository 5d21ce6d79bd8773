"""Policies on frames and arrays, and their folders."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multilogger as ml
from tests.components.api.test_bandit_log import COLUMNS


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
    np.testing.assert_array_equal(fitted.predict_proba(new), fitted.predict_proba(x))


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
