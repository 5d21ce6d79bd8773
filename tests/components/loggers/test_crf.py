"""Loggers of one of K actions, and the scaling of inputs."""

import numpy as np
import pytest
from scipy import sparse

from multilogger.components.actions.one_of import OneOf, probabilities
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.loggers.crf import crf_fits, fit_crf
from multilogger.components.loggers.linear import LinearPolicy


def choice_problem(rng: np.random.Generator, actions: int = 3, rows: int = 300) -> LabelledData:
    x = (rng.normal(size=(rows, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]).astype(np.float32)
    slopes = rng.normal(size=(actions, 3)) / [1.0, 10.0, 0.1]
    scores = (x - [0.0, 5.0, 1.0]) @ slopes.T + rng.gumbel(size=(rows, actions))
    return LabelledData(x, scores.argmax(axis=1), OneOf(actions))


@pytest.mark.parametrize("actions", [2, 3, 5])
def test_fit_is_the_stationary_point_of_the_penalised_likelihood(
    rng: np.random.Generator, actions: int
) -> None:
    data, C = choice_problem(rng, actions), 0.5
    weights = fit_crf(data, C)
    x = np.hstack([np.asarray(data.x), np.ones((data.rows, 1))])
    residual = probabilities(x @ weights.T) - np.eye(actions)[data.y]
    penalty = weights if actions > 2 else 2.0 * weights  # of two classes the difference alone is penalised
    np.testing.assert_allclose(C * residual.T @ x + penalty, 0, atol=0.3)
    assert crf_fits(data) == 1


def test_standardised_fit_does_not_depend_on_units(rng: np.random.Generator) -> None:
    data = choice_problem(rng)
    units = np.array([3.0, 0.01, 7.0])
    other = LabelledData((np.asarray(data.x) * units + 2.0).astype(np.float32), data.y, data.space)
    first, second = (LinearPolicy(fit_crf(d, 0.1, standardise=True)).logits(d.x) for d in (data, other))
    np.testing.assert_allclose(first, second, atol=2e-3)
    raw = LinearPolicy(fit_crf(data, 0.1)).logits(data.x)
    assert np.abs(raw - first).max() > 0.1


def test_standardised_fit_takes_sparse_and_constant_features(rng: np.random.Generator) -> None:
    data = choice_problem(rng)
    x = np.asarray(data.x).copy()
    x[:, 1] = 4.0
    x[rng.random(len(x)) < 0.7, 2] = 0.0
    for features in (x, sparse.csr_array(x)):
        weights = fit_crf(LabelledData(features, data.y, data.space), 0.1, standardise=True)
        assert np.isfinite(weights).all()


def test_action_that_was_never_right_is_unlikely_and_never_impossible(rng: np.random.Generator) -> None:
    data = choice_problem(rng)
    five = LabelledData(data.x, data.y, OneOf(5))
    p = probabilities(LinearPolicy(fit_crf(five, 0.1)).logits(data.x))
    assert (p[:, 3:] > 0).all()
    assert p[:, 3:].max() < 0.1


def test_single_class_gives_a_finite_policy(rng: np.random.Generator) -> None:
    data = choice_problem(rng)
    alone = LabelledData(data.x, np.zeros(data.rows, dtype=np.int64), OneOf(3))
    p = probabilities(LinearPolicy(fit_crf(alone, 0.1), alpha=2.0).logits(data.x))
    assert np.isfinite(p).all()
    assert (p[:, 0] > 0.9).all()
    assert (p > 0).all()
