"""`evaluate` says what the command says, in a report for scripts and notebooks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from tests.components.api.test_bandit_log import ONE_OF


@pytest.fixture(scope="module")
def fitted(replayed: ml.BanditLog) -> ml.Learner:
    return ml.Weighted(epochs=3, hidden=(8,)).fit(replayed)


@pytest.mark.parametrize("dr_model", ["ridge", "smrdr", "additive"])
def test_the_numbers_are_those_of_the_command(
    fitted: ml.Learner, replayed: ml.BanditLog, tmp_path: Path, dr_model: str
) -> None:
    from multilogger.components.api.log_files import rows_table
    from multilogger.components.evaluation.loss_models.registry import DrModel

    few = replayed.take(np.flatnonzero(replayed.context < 90))
    fitted.save(tmp_path / "policy")
    (tmp_path / "log").mkdir()
    pq.write_table(rows_table(few, few.log_propensities), tmp_path / "log" / "rows.parquet")
    x = np.asarray(few.x)
    columns = {"context": np.arange(90)} | {f"x{i}": x[:, i] for i in range(x.shape[1])}
    pq.write_table(pa.table(columns), tmp_path / "contexts.parquet")
    command = evaluate_on_logs(
        EvaluateOptions(
            policy=str(tmp_path / "policy"),
            logs=tmp_path / "log",
            contexts=tmp_path / "contexts.parquet",
            bootstrap=100,
            seed=4,
            max_weight=1e6,
            dr_model=DrModel(dr_model),
        )
    ).result
    log = replace(few, logger_policies=())
    report = ml.evaluate(fitted, log, bootstrap=100, seed=4, max_weight=1e6, dr_model=dr_model)
    named = tuple(replace(one, name=name) for one, name in zip(command.loggers, log.loggers, strict=True))
    assert report.result.estimates == command.estimates
    assert report.result.loggers == named
    assert report.result.recommendation == command.recommendation


@pytest.mark.parametrize("method", ["weighted", "balanced", "wcrm", "additive"])
@pytest.mark.parametrize("loss", [0.0, 6.0])
def test_a_logger_that_always_loses_the_same_has_no_share(
    replayed: ml.BanditLog, method: str, loss: float
) -> None:
    log = replace(replayed, loss=np.where(replayed.logger == 0, loss, replayed.loss))
    settings: dict[str, Any] = {} if method == "wcrm" else {"epochs": 2}
    assert ml.learner(method, **settings).fit(log).predict_proba(log.x).shape == (300, 6)
    report = ml.evaluate(log.logger_policies[1], log, bootstrap=100)
    assert report.result.lambda_share == (0.0, 1.0)
    said = f"the losses of all 600 rows of logger logger-1 are {loss:g}: they do not tell their spread"
    assert any(said in line for line in report.result.warnings)


@pytest.fixture(scope="module")
def report(fitted: ml.Learner, replayed: ml.BanditLog) -> ml.EvaluationReport:
    return ml.evaluate(fitted, replayed, bootstrap=100)


def test_the_report(report: ml.EvaluationReport) -> None:
    frame = report.to_pandas()
    assert list(frame.index) == list(report.estimates)
    assert frame.loc["dr", "value"] == report.estimates["dr"].value
    assert report.recommended is not None
    assert list(frame.index[frame["recommended"]]) == [report.recommended.name]
    assert report.recommendation in repr(report)
    assert report.recommended.name in report.recommendation
    assert "<table>" in report._repr_html_()
    assert "balanced-ls" in repr(report)
    assert report.smoothed["balanced-ls"].high < report.result.max_loss
    assert report.estimates["balanced"].bernstein is not None  # by the loggers' policies
    figure = report.plot()
    assert next(axes.get_xlabel() for axes in figure.axes) == "estimated risk (lower is better)"


def test_an_estimate_by_the_rows_that_were_learned_from_is_said_to_be_optimistic(
    report: ml.EvaluationReport, one_of: ml.BanditLog
) -> None:
    assert any("so the estimate is optimistic" in line for line in report.warnings)
    train, test = one_of.split(test=0.3, seed=0)
    policy = ml.Naive(epochs=1, hidden=(4,)).fit(train).policy_
    assert not any("optimistic" in line for line in ml.evaluate(policy, test, bootstrap=100).warnings)
    warned = str(ml.evaluate(policy, one_of, bootstrap=100))
    assert warned.startswith("Warning: the policy was learned from ")


def test_rewards_are_told_beside_losses(fitted: ml.Learner, replayed: ml.BanditLog) -> None:
    log = replace(replayed, reward_range=(-1.0, 5.0))
    frame = ml.evaluate(fitted, log, bootstrap=100).to_pandas()
    np.testing.assert_allclose(frame["reward"], 5.0 - frame["value"])
    assert (frame["reward_low"] <= frame["reward_high"]).all()


def test_a_bare_log_says_what_it_does_without(fitted: ml.Learner, replayed: ml.BanditLog) -> None:
    bare = ml.BanditLog.from_arrays(
        np.asarray(replayed.x)[replayed.context],
        replayed.action,
        loss=replayed.loss,
        log_propensity=replayed.log_propensity,
        logger=replayed.logger,
    )
    report = ml.evaluate(fitted, bare, bootstrap=100)
    assert "balanced" not in report.estimates
    assert [note.split(":")[0] for note in report.notes] == [
        "No balanced estimators",
        "Rows are taken as independent",
        "Bernstein intervals for clipped estimators only",
    ]


def test_anything_with_predict_proba_is_a_policy(replayed: ml.BanditLog) -> None:
    first = replayed.logger_policies[0]

    class Wrapped:
        def predict_proba(self, x: object) -> object:
            return first.predict_proba(x)

    own, foreign = (ml.evaluate(policy, replayed, bootstrap=100) for policy in (first, Wrapped()))
    pd.testing.assert_frame_equal(own.to_pandas(), foreign.to_pandas(), rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 1.0}, r"level must lie in \[0.5, 0.9999\], got 1.0; 0.95 is usual"),
        ({"bootstrap": 10}, "bootstrap needs 100 to 100,000 resamples, got 10"),
        ({"clip": 0.0}, "clip must be a number above 0, got 0.0"),
        ({"max_weight": 1e-3}, "max_weight is 0.001, but a row of the log has weight"),
        ({"dr_model": "forest"}, "dr_model must be one of ridge, smrdr, additive, network, got 'forest'"),
    ],
)
def test_bad_requests(
    fitted: ml.Learner, replayed: ml.BanditLog, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ml.BadInput, match=message):
        ml.evaluate(fitted, replayed, **arguments)  # type: ignore[arg-type]


def test_bad_policies(replayed: ml.BanditLog, frame: pd.DataFrame) -> None:
    with pytest.raises(ml.BadInput, match="a policy is needed, or an object with predict_proba, got str"):
        ml.evaluate("policy", replayed)
    with pytest.raises(ml.BadInput, match="evaluate takes a policy and a BanditLog, got DataFrame"):
        ml.evaluate(replayed.logger_policies[0], frame)  # type: ignore[arg-type]
    other = ml.datasets.load_replay("digits", passes=1).logger_policies[0]
    with pytest.raises(ml.BadInput, match="12 features and 6 labels, the policy 64 and 10; was the policy l"):
        ml.evaluate(other, replayed)


@pytest.mark.parametrize("column", ["offer", "number"])
def test_the_numbers_of_choices_are_those_of_the_command(
    offers: pd.DataFrame, tmp_path: Path, column: str
) -> None:
    log = ml.BanditLog.from_pandas(offers, **(ONE_OF | {"action": column}))
    learner = ml.Balanced(epochs=5, hidden=(8,)).fit(log)
    learner.save(tmp_path / "policy")
    log.to_parquet(tmp_path / "log.parquet")
    options = EvaluateOptions(
        policy=str(tmp_path / "policy"), logs=tmp_path / "log.parquet", bootstrap=100, seed=4
    )
    command = evaluate_on_logs(options).result
    report = ml.evaluate(learner, log, bootstrap=100, seed=4)
    assert list(report.estimates) == [row.name for row in command.estimates]
    for one, other in zip(report.result.estimates, command.estimates, strict=True):
        np.testing.assert_allclose(
            [one.value, one.standard_error], [other.value, other.standard_error], rtol=1e-6
        )
    assert command.max_loss == report.result.max_loss == 1.0


def test_a_logger_that_is_judged_by_its_own_choices(one_of: ml.BanditLog) -> None:
    second = one_of.take(np.flatnonzero(one_of.logger == 1))
    alone = replace(
        second, logger=np.zeros(len(second), dtype=np.int64), loggers=("two",), log_propensities=None
    )
    alone = replace(alone, logger_policies=(one_of.logger_policies[1],))
    report = ml.evaluate(one_of.logger_policies[1], alone, bootstrap=100)
    assert report.estimates["naive"].value == pytest.approx(second.loss.mean())
    assert report.estimates["naive"].mean_weight == pytest.approx(1.0)


def test_choices_by_name_whatever_their_order(offers: pd.DataFrame) -> None:
    log = ml.BanditLog.from_pandas(offers, **ONE_OF)
    learner = ml.Weighted(epochs=3, hidden=(8,)).fit(log)
    turned = ml.BanditLog.from_pandas(offers, actions=log.actions[::-1], **ONE_OF)
    one, other = (ml.evaluate(learner, rows, bootstrap=100).to_pandas() for rows in (log, turned))
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)
