"""An imported log through the stages that follow: propensities, learning, and the held-out estimate."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import Stage, StageSettings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.lambda_star import LambdaStarSettings, estimate_lambda_star
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.learn_settings import LearnSettings, check_own_log
from multilogger.tasks.own_log.estimate import EstimateSettings, estimate_policy, load_held_out
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from multilogger.tasks.own_log.propensities import (
    Fit,
    PropensitiesSettings,
    all_logged,
    complete_propensities,
)
from tests.tasks.conftest import make
from tests.tasks.own_log.shop import COLUMNS, shop_frame

EVERY = {"propensities": "p_new,p_old,p_random"}


def run_stage(stage: Stage, settings: StageSettings, folder: Path, **inputs: Artifact) -> Artifact:
    return make(folder.parent, stage, settings, folder.name, **inputs)


def import_shop(frame: pd.DataFrame, folder: Path, **changes: str) -> Artifact:
    frame.to_parquet(folder / "shop.parquet")
    values = {"logs": str(folder / "shop.parquet"), "dataset": "shop", **COLUMNS, **changes}
    return run_stage(import_log, ImportLogSettings.build(values), folder / "import")


def propensities_of(artifact: Artifact, part: str = "log") -> np.ndarray:
    table = pq.read_table(artifact.folder / part)
    return np.asarray(table["log_propensities"].to_pylist(), dtype=np.float64)


def test_a_log_with_all_propensities_needs_none(tmp_path: Path) -> None:
    log = import_shop(shop_frame(), tmp_path, **EVERY)
    assert all_logged(PropensitiesSettings(), {"log": log}) == "all propensities were logged"
    assert all_logged(PropensitiesSettings(fit=Fit.ALWAYS), {"log": log}) is None


def test_gaps_are_filled_and_what_was_logged_is_kept(tmp_path: Path) -> None:
    frame = shop_frame()
    frame.loc[frame["policy"] == "old", "pscore"] = np.nan
    log = import_shop(frame, tmp_path)
    done = run_stage(complete_propensities, PropensitiesSettings(), tmp_path / "done", log=log)
    for part in ("log", "test/log"):
        before, after = propensities_of(log, part), propensities_of(done, part)
        assert np.isfinite(after).all()
        np.testing.assert_array_equal(after[~np.isnan(before)], before[~np.isnan(before)])
    report = json.loads((done.folder / "propensities.json").read_text())
    assert 0.2 < report["own_share"] < 0.45


def test_a_logger_that_changes_is_known_by_the_time_of_the_row(tmp_path: Path) -> None:
    frame, rng = shop_frame(1200), np.random.default_rng(0)
    old = (frame["policy"] == "old").to_numpy()
    late = np.linspace(0, 1, len(frame)) > 0.5
    likely = np.where(rng.random(len(frame)) < 0.9, np.where(late, "tea", "jam"), "pie")
    frame.loc[old, "item_id"] = likely[old]
    frame.loc[old, "pscore"] = np.nan
    log = import_shop(frame, tmp_path, time="at", features="user_*")
    found = {}
    for time in (False, True):
        settings = PropensitiesSettings(time=time)
        done = run_stage(complete_propensities, settings, tmp_path / f"time-{time}", log=log)
        report = json.loads((done.folder / "propensities.json").read_text())
        acted = pq.read_table(done.folder / "test" / "log").column("logger").to_numpy() == 1
        held_out = propensities_of(done, "test/log")[acted, 1]
        found[time] = report["loggers"][1]["log_likelihood"], held_out.mean()
    assert min(np.array(found[True]) - np.array(found[False])) > 0.2


def test_own_propensities_may_stand_for_all(tmp_path: Path) -> None:
    log = import_shop(shop_frame(), tmp_path)
    settings = PropensitiesSettings(fit=Fit.NEVER)
    done = run_stage(complete_propensities, settings, tmp_path / "done", log=log)
    after = propensities_of(done)
    np.testing.assert_array_equal(after[:, 0], after[:, 2])


def test_no_propensity_at_all_cannot_be_kept(tmp_path: Path) -> None:
    log = import_shop(shop_frame().drop(columns="pscore"), tmp_path, propensity=None)  # type: ignore[arg-type]
    with pytest.raises(ml.BadInput, match="but no propensity was; name their column with --propensity"):
        run_stage(complete_propensities, PropensitiesSettings(fit=Fit.NEVER), tmp_path / "done", log=log)


def test_from_a_log_to_a_policy_that_takes_the_raw_frame(tmp_path: Path) -> None:
    frame = shop_frame(1200)
    log = import_shop(frame, tmp_path, **EVERY)
    inputs = {"data": log, "loggers": log, "log": log}
    numbers = {"method": "balanced", "dataset": "shop", "actions": "one-of", "epochs": 3}
    policy = run_stage(learn_policy, LearnSettings.build(numbers), tmp_path / "policy", **inputs)
    shares = run_stage(
        estimate_lambda_star, LambdaStarSettings(), tmp_path / "shares", **inputs, policy=policy
    )
    settings = EstimateSettings(bootstrap=200)
    scores = run_stage(estimate_policy, settings, tmp_path / "scores", **inputs, policy=policy, shares=shares)
    found = load_held_out(scores)
    assert set(found.loggers) == {"new", "old", "random"}
    assert found.best == "new"
    assert (found.max_loss, found.reward_range) == (1.0, (0.0, 1.0))
    assert found.policy.value is not None
    assert found.policy.low is not None
    assert found.policy.low < found.policy.value
    test = pq.read_table(log.folder / "test" / "log").to_pandas()
    own = test[test["logger"] == 0]["delta"].mean()
    assert found.loggers["new"].value == pytest.approx(own)
    assert set(found.differences) == {"new", "old", "random"}
    assert found.differences["new"] == found.difference
    assert found.differences["old"].value == pytest.approx(
        found.policy.value - (found.loggers["old"].value or 0.0)
    )
    loaded = ml.load_policy(policy.folder)
    assert loaded.actions == ("jam", "pie", "tea")
    assert set(loaded.predict(frame.head(20))) <= {"jam", "pie", "tea"}
    np.testing.assert_allclose(loaded.predict_proba(frame.head(3)).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("crf", "crf is a reference of replayed data; shop is a log of its own"),
        ("logger-1", "logger-1 is a reference"),
        ("full-information", "full-information needs the true labels of its contexts, which a log does not"),
    ],
)
def test_methods_that_a_log_cannot_feed(method: str, message: str) -> None:
    with pytest.raises(ml.BadInput, match=message):
        check_own_log(method, "shop")


def test_exact_methods_ask_for_policies(tmp_path: Path) -> None:
    log = import_shop(shop_frame(), tmp_path, **EVERY)
    numbers = {"method": "weighted-exact", "dataset": "shop", "actions": "one-of", "epochs": 1}
    with pytest.raises(ml.BadInput, match=r"--set propensities\.fit=always"):
        run_stage(
            learn_policy, LearnSettings.build(numbers), tmp_path / "policy", data=log, loggers=log, log=log
        )


def test_a_long_log_lets_every_candidate_of_auto_compete(tmp_path: Path) -> None:
    """Estimated policies of loggers are there for those of `auto` that need them."""
    log = import_shop(shop_frame(900), tmp_path)
    always = PropensitiesSettings(fit=Fit.ALWAYS)
    done = run_stage(complete_propensities, always, tmp_path / "done", log=log)
    numbers = {"method": "auto", "dataset": "shop", "actions": "one-of", "epochs": 1, "hidden": "8"}
    settings = LearnSettings.build({**numbers, "memory_rows": 300, "folds": 2, "confidence": 0.999})
    inputs = {"data": log, "loggers": done, "log": done}
    policy = run_stage(learn_policy, settings, tmp_path / "policy", **inputs)
    left_out = json.loads((policy.folder / "portfolio.json").read_text())["left_out"]
    assert "the loggers' policies are not known" not in str(left_out)


def test_metrics_of_loggers_with_odd_names_are_ones_that_mlflow_takes(tmp_path: Path) -> None:
    from mlflow.utils.validation import _validate_metric_name

    odd = {"new": "../../x", "old": "..", "random": "model[a]/<b>"}
    frame = shop_frame()
    frame["policy"] = frame["policy"].map(odd)
    log = import_shop(frame, tmp_path)
    (tmp_path / "done").mkdir()
    run = StageRun(tmp_path / "done")
    complete_propensities.call(PropensitiesSettings(), {"log": log}, run)
    names = [metric.name for metric in run.metrics]
    assert len(set(names)) == len(names) == 5
    for name in names:
        _validate_metric_name(name)  # type: ignore[no-untyped-call]
