"""Losses against sums over all actions."""

import re

import numpy as np
import pytest
import torch

from multilogger.components.actions.label_losses import hamming
from multilogger.components.actions.labels import all_actions, log_probability_table
from multilogger.components.datasets.losses import CROWDING, HAMMING, LOSSES, find_loss
from multilogger.components.datasets.torch_losses import EXPECTED_LOSSES
from multilogger.components.errors import BadInput

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(7, 5))
TRUTH = (RNG.random((7, 5)) < 0.4).astype(np.uint8)
ACTIONS = all_actions(5)


def test_crowding_by_hand() -> None:
    y = np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.uint8)
    truth = np.array([[1, 0, 0, 0]] * 4, dtype=np.uint8)
    # (wrong labels + 1.5 pairs) / 2.5; the last label is a neighbour of the first.
    np.testing.assert_allclose(CROWDING.value(y, truth), [2.5 / 2.5, 2.5 / 2.5, 1 / 2.5, (3 + 6) / 2.5])


def test_hamming_is_the_count_of_wrong_labels() -> None:
    np.testing.assert_array_equal(HAMMING.value(ACTIONS[:7], TRUTH), hamming(ACTIONS[:7], TRUTH))


@pytest.mark.parametrize("name", LOSSES)
def test_expected_loss_is_the_sum_over_all_actions(name: str) -> None:
    loss = LOSSES[name]
    probability = np.exp(log_probability_table(LOGITS, ACTIONS))
    table = np.stack([loss.value(ACTIONS, np.tile(t, (32, 1))) for t in TRUTH])
    np.testing.assert_allclose(loss.expected(LOGITS, TRUTH), (probability * table).sum(axis=1), rtol=1e-12)
    assert table.min() >= 0
    assert table.max() <= loss.largest(5)


@pytest.mark.parametrize("name", LOSSES)
def test_torch_agrees(name: str) -> None:
    ours = EXPECTED_LOSSES[name](torch.from_numpy(LOGITS), torch.from_numpy(TRUTH))
    np.testing.assert_allclose(ours.numpy(), LOSSES[name].expected(LOGITS, TRUTH), rtol=1e-12)


def test_the_largest_crowding_loss_is_reached() -> None:
    ones, none = np.ones((1, 5), dtype=np.uint8), np.zeros((1, 5), dtype=np.uint8)
    assert CROWDING.value(ones, none)[0] == pytest.approx(CROWDING.largest(5))


def test_unknown_loss() -> None:
    message = "unknown loss 'ranking'; choose one of hamming, crowding"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        find_loss("ranking")
