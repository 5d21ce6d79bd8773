"""Pareto-k against tails whose shape is known."""

import numpy as np
import pytest
from scipy import stats

from multilogger.components.checks.pareto import fit_tail, pareto_k, tail_size, tail_words


@pytest.mark.parametrize("k", [-0.2, 0.2, 0.5, 0.8, 1.2])
def test_the_shape_is_that_of_scipys_distribution(k: float) -> None:
    x = stats.genpareto.rvs(k, scale=3.0, size=4000, random_state=0)
    found = fit_tail(x)
    assert abs(found.k - k) < 0.06
    assert abs(found.sigma / 3.0 - 1) < 0.1
    likelihood = stats.genpareto.logpdf(x, found.k, scale=found.sigma).sum()
    best, _, scale = stats.genpareto.fit(x, floc=0.0)
    assert likelihood > stats.genpareto.logpdf(x, best, scale=scale).sum() - 1.0


@pytest.mark.parametrize(("k", "words"), [(0.1, "light"), (0.6, "heavy but bearable"), (1.0, "too heavy")])
def test_the_tail_of_weights(k: float, words: str) -> None:
    weights = stats.genpareto.rvs(k, size=100_000, random_state=1)
    found = pareto_k(np.sort(weights)[-tail_size(len(weights)) - 1 :])
    assert abs(found - k) < 0.12
    assert tail_words(found).startswith(words)


def test_equal_weights_have_no_tail() -> None:
    assert np.isnan(pareto_k(np.ones(50)))
    assert np.isnan(pareto_k(np.arange(5.0)))
    assert tail_words(float("nan")) == "no tail"
