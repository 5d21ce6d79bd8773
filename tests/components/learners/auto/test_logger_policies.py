"""Loggers as policies: found again, or imitated by what they did."""

from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.learners.auto.logger_policies import logger_policy
from multilogger.components.log.memory import TrainingLog, densify
from tests.components.conftest import make_training_log


def off(log: TrainingLog, found: np.ndarray, logger: int) -> float:
    """The mean gap in chances from a logger."""
    space = log.space
    gap = space.probabilities(found) - space.probabilities(log.logger_logits[logger])
    return float(np.abs(gap).mean())


@pytest.mark.parametrize("actions", ["labels", "one-of"])
def test_a_linear_logger_is_found_again(actions: str) -> None:
    log = make_training_log(actions=actions)
    found = logger_policy(log, 1, seed=0)
    assert not found.is_copy
    assert off(log, found.logits, 1) < 1e-6


def test_a_logger_that_is_not_linear_is_learned_from_its_chances() -> None:
    log = make_training_log()
    bent = tuple(np.sin(3.0 * logits) for logits in log.logger_logits)
    found = logger_policy(replace(log, logger_logits=bent), 1, seed=0)
    assert found.is_copy
    assert off(replace(log, logger_logits=bent), found.logits, 1) < 0.12


@pytest.mark.parametrize("actions", ["labels", "one-of"])
def test_an_unknown_logger_is_imitated_no_closer_than_its_rows_tell(actions: str) -> None:
    """Of a nearly uniform logger with many features that say nothing, a free copy learns noise by heart."""
    log = make_training_log(contexts=120, passes=(4, 4), alphas=(0.0, 1.5), actions=actions)
    noise = np.random.default_rng(1).normal(size=(120, 40)).astype(np.float32)
    wide = replace(log, x=np.hstack([densify(log.x), noise]))
    unknown = replace(wide, logger_logits=())
    uniform, sharp = (logger_policy(unknown, j, seed=0) for j in range(2))
    assert uniform.is_copy
    assert off(wide, uniform.logits, 0) < 0.05
    flat = np.zeros_like(sharp.logits)
    assert off(wide, sharp.logits, 1) < 0.8 * off(
        wide, flat, 1
    )  # it learns where there is something to learn
