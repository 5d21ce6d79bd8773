"""Values by inverse propensities with estimated ones, where the truth is known."""

import numpy as np
import pytest

from multilogger.components.propensities.settings import PropensitySettings
from tests.components.propensities.simulated import (
    Logits,
    context_free,
    greedy_tree,
    simulate,
    softmax_logger,
    uniform,
)

QUICK = PropensitySettings(C=(0.01, 0.3), leaves=(4,))
ROWS, RUNS = 1000, 10


@pytest.mark.parametrize(
    ("logger", "plain"),
    [
        (softmax_logger(7, scale=0.3), 8),
        (uniform(), 8),
        (context_free(), 8),
        (greedy_tree(epsilon=0.5), 4),
    ],
    ids=["softmax", "uniform", "context-free", "epsilon-greedy tree"],
)
def test_intervals_of_the_value_hold_the_truth(logger: Logits, plain: int) -> None:
    """A softmax policy's value by one logger's rows; the reward is 1 where the action is that of the tree.

    95 % intervals: fewer than 8 of 10 hold the truth with a chance of 1.2 %. Where thresholds are estimated,
    1/p is too large on average by some percent: plain IPS shows it, self-normalised IPS does not.
    """
    target = softmax_logger(5, scale=0.3)
    held = np.zeros(2)
    for seed in range(RUNS):
        log = simulate([logger], ROWS, seed=seed)
        x = np.asarray(log.x, dtype=np.float64)
        logits = target(x)
        pays = ((x[:, 0] > 0) + 2 * (x[:, 1] > 0.3))[:, None] == np.arange(5)
        truth = float((log.space.probabilities(logits) * pays).sum(axis=1).mean())
        reward = pays[np.arange(ROWS), log.action].astype(np.float64)
        estimate = log.complete(settings=QUICK).log_propensities[:, 0]
        w = np.exp(log.space.log_probability(logits, log.action) - estimate)
        value, normalised = float(np.mean(w * reward)), float(np.sum(w * reward) / np.sum(w))
        errors = np.std(w * reward), np.std(w * (reward - normalised)) / np.mean(w)
        off = np.abs(np.array([value, normalised]) - truth)
        held += off < 1.96 * np.array(errors) / np.sqrt(ROWS)
    assert held[0] >= plain
    assert held[1] >= 8
