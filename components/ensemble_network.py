"""Several policy networks that act as one: their probabilities are averaged, then sharpened."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from multilogger.components import torch_policies
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Matrix, logits_of

# Choice: no label is ever surer than 1 - 1e-6, so that even a greedy policy has finite weights, divergences
# and certificates; it costs a millionth of a label.
LARGEST_LOGIT = 14.0
GREEDY = 1e4  # a sharpness that leaves to chance only labels whose logit is within 1e-3 of 0
LEAST_CHANCE = 1e-7


def sharpened(p: Matrix, sharpness: float) -> Matrix:
    """The logits (n, q) that an ensemble of mean probabilities p has, for probabilities from elsewhere."""
    logits = sharpness * logits_of(p, LEAST_CHANCE)
    return np.asarray(np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT), dtype=np.float64)


class EnsembleNetwork(PolicyNetwork):
    """Logits (n, q) of sharpness * logit(mean_k p_k(x)), kept within +-14.

    A sharpness of 1 draws labels with the mean probability, `GREEDY` takes the most likely ones. It is part
    of the state, so that an epoch's sharpness comes back with its weights.
    """

    def __init__(self, members: Sequence[PolicyNetwork], sharpness: float = 1.0) -> None:
        nn.Module.__init__(self)  # the members have the layers
        self.members = nn.ModuleList(members)
        self.sharpness: Tensor
        self.register_buffer("sharpness", torch.tensor(float(sharpness)))

    def sharpen(self, sharpness: float) -> None:
        """Act with another sharpness from now on."""
        self.sharpness.fill_(sharpness)

    def forward(self, x: Tensor) -> Tensor:
        p = self.probabilities(x)
        # A float32 probability may round to exactly 0 or 1.
        logits = torch_policies.logits_of(p, LEAST_CHANCE)
        scaled: Tensor = (self.sharpness * logits).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
        return scaled

    def probabilities(self, x: Tensor) -> Tensor:
        """mean_k p_k(x): (n, q)."""
        return torch.stack([torch_policies.marginals(member(x)) for member in self.members]).mean(dim=0)
