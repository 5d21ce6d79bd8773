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


def test_what_is_refused(tmp_path: Path) -> None:
    assert "digits" in ml.datasets.list_datasets()
    with pytest.raises(ml.BadInput, match="yeast is not embedded, only digits and pairwise are; fetch its"):
        ml.datasets.load_replay("yeast")
    with pytest.raises(ml.BadInput, match="unknown dataset 'iris'"):
        ml.datasets.load_dataset("iris")
    with pytest.raises(ml.BadInput, match="passes must be a whole number, 1 or more, for each of the 2"):
        ml.datasets.load_replay("digits", passes=[1])
    with pytest.raises(ml.BadInput, match="there is no file"):
        ml.datasets.load_svmlight(tmp_path / "none", 1, 1)
    with pytest.raises(ml.BadInput, match="a Policy or a fitted learner is needed, got str"):
        ml.datasets.expected_loss("policy", ml.datasets.load_dataset("digits").test)
