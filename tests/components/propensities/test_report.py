"""What is said of estimated propensities."""

import json

import numpy as np
import pytest

from multilogger.components.propensities.complete import CompletedPropensities
from multilogger.components.propensities.time import time_columns
from tests.components.propensities.simulated import simulate, softmax_logger, uniform


@pytest.fixture(scope="module")
def done() -> CompletedPropensities:
    log = simulate([softmax_logger(0), uniform()], 1500, seed=0)
    own = log.own.copy()
    own[log.logger == 1] = np.nan
    return log.complete(own)


def test_counts_and_likelihoods(done: CompletedPropensities) -> None:
    first, second = done.report.loggers
    assert (first.rows, first.logged, first.estimated) == (1500, 1500, 0)
    assert (second.rows, second.logged, second.estimated) == (1500, 0, 1500)
    assert done.report.own_share == 0.5
    assert done.report.estimated_share == 0.75
    assert first.log_likelihood > first.marginal_log_likelihood + 0.3
    assert second.log_likelihood == pytest.approx(-np.log(5), abs=0.01)  # that of a uniform logger


def test_calibration_curve_is_on_the_diagonal(done: CompletedPropensities) -> None:
    for one in done.report.loggers:
        assert one.calibration_error < 0.05
        assert sum(point.count for point in one.calibration) == 1500 * 5
        for point in one.calibration:
            assert point.low <= point.predicted <= point.high
            error = np.sqrt(max(point.predicted * (1 - point.predicted), 1e-4) / point.count)
            assert abs(point.predicted - point.observed) < 5 * error


def test_machines_and_people_can_read_it(done: CompletedPropensities) -> None:
    facts = json.loads(done.report.to_json())
    assert facts["loggers"][0]["logger"] == "logger-1"
    assert facts["findings"] == []
    assert {one["logger"] for one in facts["checks"]} == {"logger-1"}
    assert "Logged propensities agree with the estimate." in repr(done.report)
    assert "<td>logger-2</td>" in done.report._repr_html_()


def test_logger_that_changes_over_time_needs_the_time() -> None:
    """Half of the rows at one action, half at another: without the time both are a coin."""
    log = simulate([uniform(2)], 2000, seed=3, size=2)
    time = np.arange(2000)
    late = np.random.default_rng(0).random(2000) < 0.9
    action = np.where(time < 1000, ~late, late).astype(np.int64)
    log = type(log)(log.x, log.context, action, log.logger, log.table, log.space)
    plain = log.complete().report.loggers[0]
    timed = log.complete(extra=time_columns(time)).report.loggers[0]
    assert plain.log_likelihood < -0.68
    assert timed.log_likelihood > -0.45
