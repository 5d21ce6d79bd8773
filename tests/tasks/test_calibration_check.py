"""What `learn` leaves and says about a loss model of one-of-K actions, on a real run folder."""

import json
from pathlib import Path

import pytest

from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import Artifact, manifest_of
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.learn_settings import LearnSettings
from multilogger.tasks.policy_checks import calibration_found, check_calibration
from multilogger.tasks.replay import ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, train_loggers
from tests.components.learners.loss_models.test_calibration import make_log
from tests.tasks.conftest import make


@pytest.mark.parametrize(
    ("method", "sharper", "said"),
    [
        ("dm", 1.0, ""),
        ("dm", 3.0, "'dm' may be biased here, use 'dr'"),
        ("dr", 3.0, "'dr' corrects it where the loggers took an action, and is noisy for it"),
    ],
)
def test_result_is_kept_logged_and_said(
    method: str, sharper: float, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A model that is three times as sure as it should be."""
    run, (log, p) = StageRun(tmp_path), make_log(0, rows=20)
    odds = (p / (1 - p)) ** sharper
    check_calibration(method, odds / (1 + odds), log, run)
    kept = json.loads((tmp_path / "calibration.json").read_text())
    assert kept["rejected"] is bool(said)
    assert {"predicted", "observed", "rows"} == kept["bins"][0].keys()
    metrics = {point.name: point.value for point in run.metrics}
    assert metrics["calibration/slope"] == pytest.approx(1 / sharper, abs=0.1)
    policy = Artifact(stage="learn", key="k", path=".", files=manifest_of(tmp_path), run_id="", root=tmp_path)
    assert calibration_found(policy) == (kept["p_value"], kept["rejected"])
    assert calibration_found(policy.model_copy(update={"files": {}})) is None
    assert [line.startswith("the loss model is off by up to ") for line in caplog.messages] == [True] * bool(
        said
    )
    assert all(line.endswith(said) for line in caplog.messages)


@pytest.mark.parametrize(
    ("method", "memory_rows", "tested"),
    [("dm", 100_000, True), ("dm", 800, True), ("dr", 100_000, True), ("full-information", 100_000, False)],
)
def test_who_tests_its_loss_model(method: str, memory_rows: int, tested: bool, tmp_path: Path) -> None:
    """Also on as many rows of a log as may be held; who saw the right actions has none to test."""
    data = make(tmp_path, download, DownloadSettings(dataset="digits-one-of"))
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=data)
    log = make(tmp_path, replay, ReplaySettings(passes=(1, 1)), data=data, loggers=loggers)
    numbers = {"method": method, "dataset": "digits-one-of", "epochs": 1, "hidden": "8", "folds": 2}
    chosen = LearnSettings.build({**numbers, "model_epochs": 1, "memory_rows": memory_rows})
    learned = make(tmp_path, learn_policy, chosen, "learned", data=data, loggers=loggers, log=log)
    assert (calibration_found(learned) is not None) is tested
    assert "additivity.json" not in learned.files
