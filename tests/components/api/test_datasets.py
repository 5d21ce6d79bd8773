"""Replays in memory are those of the stages."""

from pathlib import Path

import numpy as np
import pytest

import multilogger as ml


def test_a_replay_is_that_of_the_paper() -> None:
    log = ml.datasets.load_replay("digits", passes=(1, 2), validation=0.25)
    assert repr(log) == (
        "BanditLog(rows=3771, contexts=1257, features=64, labels=10, loggers=['logger-1', 'logger-2'])"
    )
    assert log.validation is not None
    assert log.validation.sum() == 3 * 314
    assert log.log_propensities is not None
    own = log.log_propensities[np.arange(len(log)), log.logger]
    np.testing.assert_array_equal(own, log.log_propensity)
    means = [log.loss[log.logger == j].mean() for j in range(2)]
    np.testing.assert_allclose(means, (4.699, 0.744), atol=0.1)  # the README's losses of both on test


def test_true_risk_in_closed_form() -> None:
    log = ml.datasets.load_replay("digits", passes=1)
    test = ml.datasets.load_dataset("digits").test
    assert ml.datasets.expected_loss(log.logger_policies[0], test) == pytest.approx(4.699, abs=0.02)


def test_own_files(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_text("0 1:1 3:2\n1,2 2:1\n 1:3\n")
    data = ml.datasets.load_svmlight(path, features=3, labels=3)
    np.testing.assert_array_equal(data.y, [[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    assert len(ml.datasets.replay(data, passes=2, fraction=1.0)) == 12


def test_a_replay_of_choices() -> None:
    log = ml.datasets.load_replay("digits-one-of", passes=1)
    assert repr(log) == (
        "BanditLog(rows=2514, contexts=1257, features=64, actions=10, loggers=['logger-1', 'logger-2'])"
    )
    assert log.actions == tuple(range(10))
    assert log.truth is not None
    np.testing.assert_array_equal(log.loss, log.truth[log.context] != log.action)
    test = ml.datasets.load_dataset("digits-one-of").test
    policy = log.logger_policies[1]
    wrong = 1.0 - policy.predict_proba(test.x)[np.arange(test.rows), test.y]
    assert ml.datasets.expected_loss(policy, test) == pytest.approx(wrong.mean())


def test_own_files_of_classes(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_text("0 1:1 3:2\n2 2:1\n1 1:3\n")
    data = ml.datasets.load_svmlight(path, features=3, classes=3)
    np.testing.assert_array_equal(data.y, [0, 2, 1])
    log = ml.datasets.replay(data, passes=2, fraction=1.0)
    assert (len(log), log.actions, log.max_loss) == (12, (0, 1, 2), 1.0)


def test_data_of_other_actions(tmp_path: Path) -> None:
    digits, classes = (ml.datasets.load_dataset(name).test for name in ("digits", "digits-one-of"))
    policy = ml.datasets.load_replay("digits", passes=1).logger_policies[0]
    with pytest.raises(
        ml.BadInput, match="the data has 10 actions, the policy 10 labels; was the policy lear"
    ):
        ml.datasets.expected_loss(policy, classes)
    with pytest.raises(ml.BadInput, match="zero-one is a loss of one-of, the data has labels; take hamming"):
        ml.datasets.expected_loss(policy, digits, "zero-one")
    with pytest.raises(ml.BadInput, match="hamming is a loss of labels, the data has one-of; take zero-one"):
        ml.datasets.replay(classes, loss="hamming")
    for sizes in ({}, {"labels": 2, "classes": 2}):
        with pytest.raises(
            ml.BadInput, match="takes the number of labels or that of classes; give one of them"
        ):
            ml.datasets.load_svmlight(tmp_path, 1, **sizes)


def test_what_is_refused(tmp_path: Path) -> None:
    assert "digits" in ml.datasets.list_datasets()
    with pytest.raises(
        ml.BadInput, match="yeast is not embedded, only digits, pairwise, digits-one-of are; f"
    ):
        ml.datasets.load_replay("yeast")
    with pytest.raises(ml.BadInput, match="unknown dataset 'iris'"):
        ml.datasets.load_dataset("iris")
    with pytest.raises(ml.BadInput, match="passes must be a whole number, 1 or more, for each of the 2"):
        ml.datasets.load_replay("digits", passes=[1])
    with pytest.raises(ml.BadInput, match="there is no file"):
        ml.datasets.load_svmlight(tmp_path / "none", 1, 1)
    with pytest.raises(ml.BadInput, match="a Policy or a fitted learner is needed, got str"):
        ml.datasets.expected_loss("policy", ml.datasets.load_dataset("digits").test)
