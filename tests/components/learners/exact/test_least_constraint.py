"""The least value of the constraint against a search over all policies."""

import math

import numpy as np
import pytest
import torch

from multilogger.components.actions.torch_labels import KnownLabelLoggers
from multilogger.components.learners.exact.multiplier import Candidates, log_terms


def crf_loggers(*alphas: float, contexts: int = 3, labels: int = 2) -> KnownLabelLoggers:
    """One policy at several alphas, as the paper's loggers are."""
    weights = np.random.default_rng(0).normal(size=(contexts, labels))
    return KnownLabelLoggers.of([alpha * weights for alpha in alphas])


def searched(loggers: KnownLabelLoggers, log_shares: torch.Tensor, average: bool) -> float:
    """The least by brute force: every pair of logits of two labels on a fine grid, context by context."""
    line = torch.linspace(-6.0, 6.0, 481, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)
    least = []
    for x in range(len(loggers.logits)):
        at = KnownLabelLoggers(
            loggers.logits[x].expand(len(grid), -1, -1), loggers.log_all[x].expand(len(grid), -1)
        )
        least.append(log_terms(at.log_d2(grid), log_shares, average).min())
    return float(torch.logsumexp(torch.stack(least), dim=0)) - math.log(len(least))


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.05, 0.95)])
def test_least_is_that_of_a_search(shares: tuple[float, float], average: bool) -> None:
    loggers, log_shares = crf_loggers(0.05, 4.0), torch.tensor(shares, dtype=torch.float64).log()
    found, best = (
        Candidates.of(loggers, loggers).log_least(log_shares, average),
        searched(loggers, log_shares, average),
    )
    assert best > 0.01, "these loggers differ"
    assert best - 1e-6 <= found <= 1.1 * best + 1e-3


def test_equal_loggers_and_a_single_one_leave_nothing_to_exceed() -> None:
    for loggers in (crf_loggers(1.0, 1.0), crf_loggers(2.0)):
        count = loggers.logits.shape[1]
        log_shares = torch.full((count,), -math.log(count), dtype=torch.float64)
        assert Candidates.of(loggers, loggers).log_least(log_shares, False) == pytest.approx(0.0, abs=1e-9)


def test_many_loggers_have_a_bounded_number_of_candidates() -> None:
    loggers = crf_loggers(*np.geomspace(0.05, 2.0, 8))
    many = Candidates.of(loggers, loggers)
    assert many.log_moments.shape == (8 + 28, 3, 8)
    log_shares = torch.full((8,), -math.log(8), dtype=torch.float64)
    assert (
        0.0
        < many.log_least(log_shares, False)
        < float(torch.logsumexp(log_terms(many.log_moments[0], log_shares, False), 0))
    )
