import itertools

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.policies import (
    expected_hamming,
    greedy,
    hamming,
    log_probability,
    marginals,
    sample,
)

THREE_QUARTERS = np.log(3.0)  # the logit of 3/4


def all_actions(labels: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.array(list(itertools.product((0, 1), repeat=labels)), dtype=np.uint8)


def test_log_probability_by_hand() -> None:
    logits = np.array([[THREE_QUARTERS, 0.0], [-THREE_QUARTERS, THREE_QUARTERS]])
    y = np.array([[1, 0], [1, 1]], dtype=np.uint8)
    np.testing.assert_allclose(np.exp(log_probability(logits, y)), [3 / 4 * 1 / 2, 1 / 4 * 3 / 4])


def test_probabilities_of_all_actions_sum_to_one(rng: np.random.Generator) -> None:
    actions = all_actions(8)
    logits = np.repeat(rng.normal(scale=4, size=(1, 8)), len(actions), axis=0)
    assert np.exp(log_probability(logits, actions)).sum() == pytest.approx(1.0, abs=1e-12)


def test_log_probability_is_finite_where_a_product_would_vanish() -> None:
    logits = np.full((1, 22), 60.0)
    y = np.zeros((1, 22), dtype=np.uint8)
    assert log_probability(logits, y)[0] == pytest.approx(-22 * 60.0)


def test_expected_hamming_equals_enumeration(rng: np.random.Generator) -> None:
    actions = all_actions(6)
    for _ in range(5):
        logits = rng.normal(scale=2, size=(1, 6))
        truth = (rng.random((1, 6)) < 0.5).astype(np.uint8)
        rows = np.repeat(logits, len(actions), axis=0)
        by_hand = np.exp(log_probability(rows, actions)) @ hamming(
            actions, np.repeat(truth, len(actions), axis=0)
        )
        assert expected_hamming(logits, truth)[0] == pytest.approx(by_hand, abs=1e-12)


def test_greedy_is_the_most_likely_action(rng: np.random.Generator) -> None:
    actions = all_actions(5)
    logits = rng.normal(size=(1, 5))
    likelihood = log_probability(np.repeat(logits, len(actions), axis=0), actions)
    np.testing.assert_array_equal(greedy(logits)[0], actions[likelihood.argmax()])


def test_sample_compares_each_uniform_with_its_label() -> None:
    logits = np.array([[THREE_QUARTERS, THREE_QUARTERS, -THREE_QUARTERS]])
    uniforms = np.array([[0.74, 0.76, 0.24]])
    np.testing.assert_array_equal(sample(logits, uniforms), [[1, 0, 1]])
    np.testing.assert_allclose(marginals(logits), [[0.75, 0.75, 0.25]])


def test_width_mismatch_is_said() -> None:
    with pytest.raises(BadInput, match=r"got \(2, 3\) and \(2, 4\); were they made from the same dataset\?"):
        log_probability(np.zeros((2, 3)), np.zeros((2, 4), dtype=np.uint8))
