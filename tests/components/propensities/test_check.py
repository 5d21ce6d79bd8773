"""Logged propensities that are right pass the check, wrong ones are told of."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.actions.arrays import Vector
from multilogger.components.propensities.check import FAMILY_LEVEL
from multilogger.components.propensities.settings import PropensitySettings
from tests.components.propensities.simulated import (
    Simulated,
    context_free,
    greedy_tree,
    simulate,
    softmax_logger,
    uniform,
)

QUICK = PropensitySettings(folds=3, C=(0.1,), leaves=(), temperatures=(0.8, 1.0), mixings=(0.01, 0.1, 1.0))
RUNS = 200


def test_right_log_passes_at_the_stated_rate() -> None:
    """Over loggers of four kinds; 200 runs at 1 % give at most 6 with a chance of 99.6 %."""
    others = [uniform(), context_free(), greedy_tree()]
    flagged = 0
    for run in range(RUNS):
        logger = [softmax_logger(run, scale=0.4), *others][run % 4]
        log = simulate([logger], 150, seed=run)
        flagged += bool(log.complete(log.own, settings=replace(QUICK, folds=2)).report.findings)
    assert FAMILY_LEVEL == 0.01
    assert flagged <= 6


def doubled(log: Simulated) -> Vector:
    """Those of its most frequent action."""
    often = np.bincount(log.action[log.logger == 0]).argmax()
    rows = (log.logger == 0) & (log.action == often)
    return np.where(rows, np.minimum(log.own + math.log(2.0), 0.0), log.own)


def swapped_with_the_rest(log: Simulated) -> Vector:
    return np.where(log.logger == 0, np.log1p(-np.exp(log.own)), log.own)


def of_base_ten(log: Simulated) -> Vector:
    return np.where(log.logger == 0, log.own / math.log(10.0), log.own)


def of_another_logger(log: Simulated) -> Vector:
    return np.where(log.logger == 0, log.table[:, 1], log.own)


WRONG = [doubled, swapped_with_the_rest, of_base_ten, of_another_logger]


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [*((one, "one-of") for one in WRONG), *((one, "labels") for one in WRONG[1:])],
)
def test_wrong_log_shows(wrong: Callable[[Simulated], Vector], kind: str) -> None:
    size = 5 if kind == "one-of" else 2
    log = simulate([softmax_logger(0, size), softmax_logger(1, size)], 600, seed=1, kind=kind, size=size)
    assert not log.complete(log.own, settings=QUICK).report.findings
    found = log.complete(wrong(log), settings=QUICK).report
    assert [line.split(":")[0] for line in found.findings] == ["Logger logger-1"]


def test_doubled_action_is_named_with_half_its_weight() -> None:
    log = simulate([softmax_logger(0, scale=0.3)], 1500, seed=2)
    often = int(np.bincount(log.action).argmax())
    report = log.complete(doubled(log), settings=QUICK).report
    off = {one.action: one.mean_weight for one in report.checks if one.is_off}
    assert off[often] == pytest.approx(0.5, abs=0.06)
    assert (
        f"of action {often} is 0.5" in report.findings[0] or f"of action {often} is 0.4" in report.findings[0]
    )
