"""Additive weights in an evaluation, beside the test of what they rest on."""

from dataclasses import replace

import numpy as np
import pytest

import multilogger as ml
from multilogger.components.evaluation.point_estimates import ADDITIVE


class Sharper:
    """A policy all but sure of what another one finds likely."""

    def __init__(self, policy: ml.Policy) -> None:
        self.policy = policy

    def predict_proba(self, x: object) -> np.ndarray:
        return np.where(self.policy.predict_proba(x) > 0.5, 0.99, 0.01)


@pytest.fixture(scope="module")
def log() -> ml.BanditLog:
    return ml.datasets.load_replay("digits", passes=2, seed=0)


def test_estimates_that_rest_on_additivity_are_shown_with_its_test(log: ml.BanditLog) -> None:
    report = ml.evaluate(Sharper(log.logger_policies[1]), log, bootstrap=100)
    assert set(ADDITIVE) < set(report.estimates)
    truth = log.truth
    assert truth is not None
    chances = Sharper(log.logger_policies[1]).predict_proba(log.x)
    risk = float(np.where(truth == 1, 1 - chances, chances).sum(axis=1).mean())
    for name in ADDITIVE:
        row = report.estimates[name]
        assert abs(row.value - risk) < 4 * row.standard_error, name
    assert any("rest on a loss that adds up over labels; the test of it says p =" in n for n in report.notes)
    assert report.result.additivity is not None
    assert not report.result.additivity.rejected
    worth = {name: report.estimates[name].effective_rows for name in ("additive-balanced", "balanced")}
    assert worth["additive-balanced"] > worth["balanced"] > 0


def test_a_loss_of_pairs_is_found_out(log: ml.BanditLog) -> None:
    pairs = (log.action * np.roll(log.action, -1, axis=1)).sum(axis=1).astype(np.float64)
    report = ml.evaluate(log.logger_policies[1], replace(log, loss=pairs, max_loss=10.0), bootstrap=100)
    assert report.result.additivity is not None
    assert report.result.additivity.rejected
    assert any("it does not: leave them alone" in note for note in report.notes)


def test_no_logger_policies_no_additive_weights(log: ml.BanditLog) -> None:
    report = ml.evaluate(log.logger_policies[1], replace(log, logger_policies=()), bootstrap=100)
    assert not set(ADDITIVE) & set(report.estimates)
