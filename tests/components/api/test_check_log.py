"""The report of `BanditLog.check`: right propensities pass, wrong ones are told."""

from dataclasses import replace

import numpy as np

import multilogger as ml


def test_a_right_log_has_nothing_to_mend(replayed: ml.BanditLog) -> None:
    report = replayed.check()
    assert report.ok, report
    assert [line.rows for line in report.loggers] == [600, 300]
    text = str(report)
    assert text.splitlines()[0] == repr(replayed)
    assert "Nothing to mend." in text
    assert "logger-2" in report._repr_html_()


def test_a_mean_weight_worked_by_hand(replayed: ml.BanditLog) -> None:
    every = replayed.log_propensities
    assert every is not None
    average = (2 * np.exp(every[:, 0]) + np.exp(every[:, 1])) / 3
    expected = (np.exp(every[:, 1]) / average).mean()
    assert np.isclose(replayed.check().loggers[1].weights.mean_weight, expected)


def test_wrong_propensities_are_told(replayed: ml.BanditLog) -> None:
    every = replayed.log_propensities
    assert every is not None
    wrong = every - np.array([0.0, 1.0])
    log = replace(
        replayed, log_propensities=wrong, log_propensity=wrong[np.arange(len(replayed)), replayed.logger]
    )
    assert any("the mean weight of logger logger-2 is 0." in line for line in log.check().mend)


def test_useless_loggers_are_told(replayed: ml.BanditLog) -> None:
    same = replace(replayed, loss=np.where(replayed.logger == 0, 2.0, replayed.loss), log_propensities=None)
    assert "the losses of logger logger-1 are all 2, which is hardly chance" in same.check().mend[0]
    seldom = replayed.loss.max() - 0.01 * (np.random.default_rng(0).random(len(replayed)) < 0.05)
    unlucky = replace(replayed, loss=np.where(replayed.logger == 1, replayed.loss.max(), seldom))
    codes = [one.code for one in unlucky.check().findings]
    assert "constant-loss" in codes
    few = unlucky.take(np.flatnonzero((replayed.logger == 0) | (np.cumsum(replayed.logger == 1) <= 40)))
    assert "constant-loss" not in [one.code for one in few.check().findings]
    sure = replace(replayed, log_propensity=np.zeros(len(replayed)), log_propensities=None)
    assert "logger logger-1 is all but deterministic" in sure.check().mend[0]


def test_what_a_log_does_without(replayed: ml.BanditLog) -> None:
    bare = ml.BanditLog.from_arrays(
        np.asarray(replayed.x)[replayed.context],
        replayed.action,
        loss=replayed.loss,
        log_propensity=replayed.log_propensity,
        logger=replayed.logger,
    )
    report = bare.check()
    codes = [one.code for one in report.findings if one.severity == "note"]
    assert codes[-2:] == ["no-other-propensities", "no-contexts"]
    assert "a uniform policy over the logger" in str(report)


def test_a_policy_that_is_far_from_its_loggers(replayed: ml.BanditLog) -> None:
    class Sure:
        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            return np.full((len(x), 6), 0.999)

    report = replayed.check(Sure())
    assert any("seldom acts as the policy" in line or "rows are worth" in line for line in report.mend)
    near = replayed.check(replayed.logger_policies[0])
    assert np.isclose(near.loggers[0].weights.mean_weight, 1.0)


def test_a_log_of_choices(one_of: ml.BanditLog) -> None:
    report = one_of.check()
    assert report.ok, report
    assert report.notes == ()
    every = one_of.log_propensities
    assert every is not None
    average = (2 * np.exp(every[:, 0]) + np.exp(every[:, 1])) / 3
    assert np.isclose(report.loggers[1].weights.mean_weight, (np.exp(every[:, 1]) / average).mean())
    near = one_of.check(one_of.logger_policies[1])
    assert np.isclose(near.loggers[1].weights.mean_weight, 1.0)


def test_a_uniform_chooser_and_actions_that_nobody_took(one_of: ml.BanditLog) -> None:
    bare = ml.BanditLog.from_arrays(
        np.asarray(one_of.x)[one_of.context],
        one_of.action,
        actions=range(6),
        loss=one_of.loss,
        log_propensity=one_of.log_propensity,
        logger=one_of.logger,
    )
    report = bare.check()
    expected = (1 / 6 / np.exp(one_of.log_propensity[one_of.logger == 1])).mean()
    assert np.isclose(report.loggers[1].weights.mean_weight, expected)
    assert report.notes[0] == "2 of 6 actions were never taken, the first being 4: no row says what they cost"
