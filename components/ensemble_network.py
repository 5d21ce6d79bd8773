"""Several policy networks that act as one: their probabilities are averaged, then sharpened."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multilogger.components.networks import PolicyNetwork
from multilogger.components.torch_policies import mean_marginals, sharpened


class EnsembleNetwork(PolicyNetwork):
    """Logits (n, q) of sharpness * logit(mean_k p_k(x)), kept within +-14.

    A sharpness of 1 draws labels with the mean probability, `policies.GREEDY` takes the most likely ones. It
    is part of the state, so that an epoch's sharpness comes back with its weights.
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
        return sharpened(self.probabilities(x), self.sharpness)

    def probabilities(self, x: Tensor) -> Tensor:
        """mean_k p_k(x): (n, q)."""
        return mean_marginals([member(x) for member in self.members])
