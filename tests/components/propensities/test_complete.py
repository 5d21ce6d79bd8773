"""Estimated propensities against loggers whose propensities are known."""

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.errors import BadInput
from tests.components.propensities.simulated import (
    Simulated,
    context_free,
    simulate,
    softmax_logger,
    uniform,
)


def root_mean_square(estimate: Matrix, truth: Matrix) -> float:
    """Of the error of log propensities."""
    return float(np.sqrt(np.mean((estimate - truth) ** 2)))


def test_error_shrinks_with_the_root_of_the_rows() -> None:
    errors = []
    for contexts in (400, 6400):
        log = simulate([softmax_logger(0), softmax_logger(1)], contexts, seed=1)
        errors.append(root_mean_square(log.complete().log_propensities, log.table))
    assert errors[1] < 0.1
    assert 2.5 < errors[0] / errors[1] < 7.0  # 16 times the rows: a factor of 4


@pytest.mark.parametrize("logger", [uniform(), context_free()], ids=["uniform", "context-free"])
def test_logger_that_does_not_look_at_the_context_comes_out_nearly_right(logger: object) -> None:
    log = simulate([logger], 3000, seed=2)  # type: ignore[list-item]
    assert root_mean_square(log.complete().log_propensities, log.table) < 0.1


def test_labels_are_estimated_one_by_one() -> None:
    loggers = [softmax_logger(3, size=3), uniform(3)]
    log = simulate(loggers, 3000, seed=3, kind="labels", size=3)
    assert root_mean_square(log.complete().log_propensities, log.table) < 0.12


def test_logged_values_are_kept() -> None:
    log = simulate([softmax_logger(0), uniform()], 500, seed=4)
    own = log.own.copy()
    own[::3] = np.nan
    done = log.complete(own)
    said = ~np.isnan(own)
    np.testing.assert_array_equal(done.log_propensities[said, log.logger[said]], own[said])
    assert not done.estimated[said, log.logger[said]].any()
    assert done.estimated[~said].all()
    assert np.isfinite(done.log_propensities).all()


def test_table_with_one_unknown_logger_keeps_the_others() -> None:
    log = simulate([softmax_logger(0), uniform()], 500, seed=4)
    table = log.table.copy()
    table[:, 0] = np.nan
    done = log.complete(table=table)
    np.testing.assert_array_equal(done.log_propensities[:, 1], log.table[:, 1])
    assert done.estimated[:, 0].all()
    assert not done.estimated[:, 1].any()


def test_logger_without_rows_is_refused() -> None:
    log = simulate([uniform()], 50, seed=6)
    two = Simulated(log.x, log.context, log.action, log.logger, np.hstack([log.table] * 2), log.space)
    with pytest.raises(BadInput, match="logger logger-2 has no rows"):
        two.complete()
