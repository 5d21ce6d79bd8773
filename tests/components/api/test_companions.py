"""Logs whose propensities are missing or partial: reading, refusing, completing, and saying so."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multilogger as ml

OFFER = {
    "action": "offer",
    "reward": "click",
    "logger": "who",
    "context": "id",
    "features": [f"x{i}" for i in range(12)],
}


def read(frame: pd.DataFrame, **more: Any) -> ml.BanditLog:
    return ml.BanditLog.from_pandas(frame, **(OFFER | more))


@pytest.fixture(scope="module")
def bare(offers: pd.DataFrame) -> ml.BanditLog:
    """No column of propensities at all."""
    return read(offers.drop(columns=["pscore", "every"]))


@pytest.fixture(scope="module")
def completed(bare: ml.BanditLog) -> ml.BanditLog:
    return bare.estimate_propensities(seed=0)


@pytest.fixture(scope="module")
def policy(offers: pd.DataFrame) -> ml.Naive:
    return ml.Naive(epochs=2, seed=0).fit(read(offers, propensity="pscore"))


def test_log_without_propensities_is_read_and_refused_with_the_remedy(
    bare: ml.BanditLog, policy: ml.Naive
) -> None:
    assert np.isnan(bare.log_propensity).all()
    for call in (lambda: ml.Dm(epochs=1).fit(bare), lambda: ml.evaluate(policy, bare)):
        with pytest.raises(ml.BadInput, match=r"900 of 900 rows.*row 0 of logger old.*estimate_propensities"):
            call()


def test_completed_log_says_what_is_estimated(completed: ml.BanditLog, one_of: ml.BanditLog) -> None:
    assert completed.estimated is not None
    assert completed.estimated.all()
    assert completed.log_propensities is not None
    assert one_of.log_propensities is not None
    assert np.mean(np.abs(completed.log_propensities - one_of.log_propensities)) < 0.3
    assert len(completed.logger_policies) == 2
    assert "100.0% of the rows' own" in repr(completed.propensity_report)
    rows = np.arange(len(completed))
    np.testing.assert_array_equal(
        completed.log_propensity, completed.log_propensities[rows, completed.logger]
    )


def test_fit_warns_and_evaluate_says_so(completed: ml.BanditLog, policy: ml.Naive) -> None:
    with pytest.warns(UserWarning, match=r"propensities of 100.0% of the rows are estimated"):
        ml.Balanced(epochs=1, seed=0).fit(completed)
    report = ml.evaluate(policy, completed, bootstrap=100)
    assert report.estimated_shares == (1.0, 1.0)
    assert "are estimated, not logged" in repr(report)
    assert "are estimated, not logged" in report._repr_html_()
    assert (report.to_pandas()["estimated_propensities"] == 1.0).all()
    assert "100%" in report._estimate_table()[0]["estimated"]


def test_own_propensities_are_kept_and_the_others_estimated(offers: pd.DataFrame, policy: ml.Naive) -> None:
    log = read(offers, propensity="pscore")
    log = replace(log, log_propensities=None)
    with pytest.raises(ml.BadInput, match=r"balanced needs .* log.estimate_propensities"):
        ml.Balanced(epochs=1).fit(log)
    done = log.estimate_propensities()
    np.testing.assert_array_equal(done.log_propensity, log.log_propensity)
    report = ml.evaluate(policy, done, bootstrap=100)
    shares = report.to_pandas()["estimated_propensities"]
    assert (shares["naive"], shares["balanced"]) == (0.0, 0.5)
    assert "50.0% of the propensities under every logger are estimated" in report.notes[0]
    assert done.propensity_report is not None
    assert not done.propensity_report.findings


def test_logger_without_propensities_is_estimated_alone(offers: pd.DataFrame) -> None:
    frame = offers.drop(columns=["every"]).copy()
    frame.loc[frame["who"] == "old", "pscore"] = np.nan
    log = read(frame, propensity="pscore")
    done = log.estimate_propensities()
    assert done.estimated is not None
    assert done.estimated[:, 0].all()
    young = done.logger == 1
    assert not done.estimated[young, 1].any()
    assert done.estimated[~young, 1].all()


def test_table_with_gaps_gives_own_propensities_where_it_has_them(offers: pd.DataFrame) -> None:
    every = np.array(offers["every"].tolist())
    frame = offers.drop(columns=["pscore", "every"]).assign(p_old=every[:, 0], p_young=np.nan)
    log = read(frame, propensities={"old": "p_old", "young": "p_young"})
    old = log.logger == 0
    np.testing.assert_allclose(np.exp(log.log_propensity[old]), every[old, 0])
    assert np.isnan(log.log_propensity[~old]).all()
    done = log.estimate_propensities()
    np.testing.assert_allclose(np.exp(done.log_propensities[:, 0]), every[:, 0])  # type: ignore[index]


def test_given_policies_of_loggers_are_no_estimates(one_of: ml.BanditLog) -> None:
    bare = replace(one_of, log_propensity=np.full(len(one_of), np.nan), log_propensities=None)
    done = bare.estimate_propensities()
    assert done.estimated is not None
    assert not done.estimated.any()
    np.testing.assert_allclose(done.log_propensities, one_of.log_propensities, atol=1e-5)  # type: ignore[arg-type]


def test_estimates_are_known_as_such_after_a_split_and_from_a_file(
    completed: ml.BanditLog, tmp_path: Path
) -> None:
    _, test = completed.split(test=0.3, seed=0)
    assert test.estimated is not None
    assert test.estimated.shape == (len(test), 2)
    test.to_parquet(tmp_path / "log.parquet")
    back = ml.BanditLog.from_parquet(tmp_path / "log.parquet")
    np.testing.assert_array_equal(back.estimated, test.estimated)


def test_time_is_a_feature_only_where_it_is_known(bare: ml.BanditLog) -> None:
    with pytest.raises(ml.BadInput, match="time=True needs the column of times"):
        bare.estimate_propensities(time=True)


def test_recalibration_moves_estimates_and_leaves_logged_ones(
    completed: ml.BanditLog, offers: pd.DataFrame, policy: ml.Naive
) -> None:
    found = completed.recalibration(policy)
    assert found.moves[0].calibration == "as estimated"
    assert found.spread.naive_sn > 0
    assert "sharper" in repr(found)
    own = replace(read(offers, propensity="pscore"), log_propensities=None).estimate_propensities()
    assert own.recalibration(policy).spread.naive_sn == 0.0
    with pytest.raises(ml.BadInput, match="take that of"):
        read(offers, propensity="pscore").recalibration(policy)


def test_check_of_a_log_without_propensities_says_so_first(bare: ml.BanditLog) -> None:
    found = bare.check()
    assert found.safe
    assert found.mend[0].startswith(
        "100% of the rows have no propensity; the share of the action stands in here"
    )
    assert not any("are estimated, not logged" in line for line in found.notes)
    assert any("are estimated, not logged" in line for line in bare.estimate_propensities().check().notes)
