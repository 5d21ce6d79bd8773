"""Importance weights: values by hand, the log domain, and propensities that cannot be."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.estimators.weights import (
    WeightRule,
    importance_weights,
    log_mixture,
)

LOG_TARGET = np.log([0.5, 0.2, 0.1])
LOG_PROPENSITY = np.log([0.25, 0.4, 0.01])


def test_raw_and_clipped_weights() -> None:
    assert importance_weights(LOG_TARGET, LOG_PROPENSITY) == pytest.approx([2.0, 0.5, 10.0])
    assert importance_weights(LOG_TARGET, LOG_PROPENSITY, clip=3.0) == pytest.approx([2.0, 0.5, 3.0])


def test_the_log_domain_reaches_beyond_float64() -> None:
    log_target, log_propensity = np.array([-1.0, -2.0]), np.array([-2000.0, -2001.0])
    assert importance_weights(log_target, log_propensity, clip=30.0) == pytest.approx([30.0, 30.0])
    tiny = importance_weights(np.array([-900.0]), np.array([-899.0]))
    assert tiny == pytest.approx([math.exp(-1.0)])


def test_an_action_that_the_policy_never_takes_has_weight_zero() -> None:
    assert importance_weights(np.array([-math.inf, 0.0]), np.array([-1.0, 0.0])).tolist() == [0.0, 1.0]


def test_log_mixture_is_the_average_logger() -> None:
    table = np.log([[0.2, 0.6], [0.5, 0.1]])
    counts = np.array([30.0, 10.0])
    assert np.exp(log_mixture(table, counts)) == pytest.approx(
        [0.75 * 0.2 + 0.25 * 0.6, 0.75 * 0.5 + 0.25 * 0.1]
    )
    assert log_mixture(np.array([[-2000.0, -math.inf]]), counts) == pytest.approx([-2000.0 + math.log(0.75)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: importance_weights(np.array([-1.0]), np.array([-801.0])),
            "importance weights must stay below exp(700), got exp(800); "
            "clip the weights, or keep the policy closer to its loggers",
        ),
        (
            lambda: importance_weights(np.zeros(3), np.zeros(2)),
            "policy and log must have the same rows, got (3,) and (2,); "
            "take both from the same part of the log",
        ),
        (
            lambda: log_mixture(np.zeros((5, 2)), np.ones(3)),
            "h_avg needs one log propensity a logger, got 2 columns for 3 loggers; "
            "log all of them in each row",
        ),
        (
            lambda: WeightRule(clip=0.0),
            "clip must be above 0, got 0.0; leave it out for weights that are not clipped",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
