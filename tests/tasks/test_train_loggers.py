"""train-loggers as a plain function on a folder."""

from pathlib import Path

import numpy as np

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.train_loggers import TrainLoggersSettings, load_loggers, load_scores, train_loggers
from tests.tasks.conftest import make


def test_loggers_share_one_fit(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(alphas=(0.05, 1.0, 2.0)), data=digits)
    policies = load_loggers(loggers)
    assert [policy.alpha for policy in policies] == [0.05, 1.0, 2.0]
    np.testing.assert_array_equal(policies[0].weights, policies[2].weights)
    scores = load_scores(loggers)
    assert set(scores) == {"logger-1", "logger-2", "logger-3", "crf"}
    assert scores["logger-1"]["exp"] > scores["logger-2"]["exp"] > scores["logger-3"]["exp"]
    assert scores["crf"]["greedy"] < scores["logger-3"]["greedy"] == scores["logger-1"]["greedy"]


def test_ten_loggers_keep_their_order(tmp_path: Path, digits: Artifact) -> None:
    alphas = tuple(0.1 * (j + 1) for j in range(11))
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(alphas=alphas), data=digits)
    assert [policy.alpha for policy in load_loggers(loggers)] == list(alphas)
