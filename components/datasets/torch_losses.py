"""The expected losses of `losses.py` in torch: the same quantities, differentiable in the logits."""

from collections.abc import Callable

import torch
from torch import Tensor

from multilogger.components.actions.torch_labels import expected_hamming, expected_neighbours
from multilogger.components.actions.torch_one_of import log_probability as log_choice
from multilogger.components.datasets.losses import CROWDING, HAMMING, ZERO_ONE


def expected_crowding(logits: Tensor, truth: Tensor) -> Tensor:
    """( E Hamming + penalty sum_l p_l p_{l+1} ) / (1 + penalty) of each row: (n,)."""
    together = expected_neighbours(logits)
    return (expected_hamming(logits, truth) + CROWDING.penalty * together) / (1.0 + CROWDING.penalty)


def expected_zero_one(logits: Tensor, truth: Tensor) -> Tensor:
    """1 - h(y*|x) of each row: (n,)."""
    return -torch.expm1(log_choice(logits, truth))


EXPECTED_LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    HAMMING.name: expected_hamming,
    CROWDING.name: expected_crowding,
    ZERO_ONE.name: expected_zero_one,
}
