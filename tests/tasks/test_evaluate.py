"""evaluate reads the validation rows in one pass; its estimates are those of all of them in memory."""

from pathlib import Path

import numpy as np
import pytest

from multilogger.components.actions.labels import log_probability_at
from multilogger.components.estimators.ips import (
    lambda_weighted_risk,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import RAW, SELF_NORMALISED
from multilogger.tasks.dataset_files import load_train
from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.evaluate import EvaluateSettings, evaluate, load_evaluation
from multilogger.tasks.lambda_star import LambdaStarSettings, estimate_lambda_star, load_shares
from multilogger.tasks.learn import learn_policy, load_learned
from multilogger.tasks.learn_settings import LearnSettings
from multilogger.tasks.log_files import stream_log
from multilogger.tasks.replay import ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, train_loggers
from tests.components.estimators.risks import (
    balanced_risk,
    naive_risk,
)
from tests.tasks.conftest import make


def test_estimates_are_those_of_rows_in_memory(tmp_path: Path) -> None:
    data = make(tmp_path, download, DownloadSettings())
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=data)
    log = make(tmp_path, replay, ReplaySettings(passes=(1, 2)), data=data, loggers=loggers)
    chosen = LearnSettings.build({"method": "weighted", "epochs": 3, "hidden": "16", "risk_rate": 0.01})
    made = {"data": data, "loggers": loggers, "log": log}
    policy = make(tmp_path, learn_policy, chosen, "policy", **made)
    shares = make(tmp_path, estimate_lambda_star, LambdaStarSettings(), "shares", **made, policy=policy)
    result = make(tmp_path, evaluate, EvaluateSettings(), "evaluation", **made, policy=policy, shares=shares)
    batches = list(stream_log(log, validation=True))
    rows = [batch.rows for batch in batches]
    context = np.concatenate([part.context for part in rows])
    action = np.concatenate([part.action for part in rows])
    batch = LoggedBatch(
        logger=np.concatenate([each.logger for each in batches]),
        delta=np.concatenate([part.delta for part in rows]),
        log_propensity=np.concatenate([part.log_propensity for part in rows]),
        log_target=log_probability_at(load_learned(policy).logits(load_train(data).x), context, action),
        max_loss=10.0,
        log_propensities=np.concatenate([part.log_propensities for part in rows]),
    )
    lambdas = load_shares(shares) / batch.counts
    expected = {
        "naive": naive_risk(batch, RAW),
        "weighted": lambda_weighted_risk(batch, lambdas, RAW),
        "balanced": balanced_risk(batch, RAW),
        "naive-sn": naive_risk(batch, SELF_NORMALISED),
        "weighted-sn": lambda_weighted_risk(batch, lambdas, SELF_NORMALISED),
        "balanced-sn": balanced_risk(batch, SELF_NORMALISED),
    }
    found = load_evaluation(result).estimates
    assert list(found) == list(expected)
    for name, estimate in expected.items():
        half = 1.959963984540054 * estimate.standard_error
        figures = {
            "value": estimate.value,
            "low": estimate.value - half,
            "high": estimate.value + half,
            "mean_weight": estimate.mean_weight,
            "effective_rows": estimate.effective_rows,
        }
        assert found[name] == pytest.approx(figures, rel=1e-10), name
