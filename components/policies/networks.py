"""The network of the policy h (appendix, "Network Configurations"), and several that act as one.

(Linear -> BatchNorm -> ReLU) for each hidden layer, then Linear. The appendix has two hidden layers, the text
on Yeast one (policy 10 nodes, T 59), so sizes are settings.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import TorchSpace
from multilogger.components.policies.network_size import NetworkSize

BLOCK_NUMBERS = 4_000_000  # of a member's table of actions: 16 MB
WHOLE_ROWS = 2**17  # more contexts pass a network in lots: no room for the hidden units of all
Thin = Callable[[Tensor], Tensor]
"""Leaves some of its numbers out."""


def leave_out_nothing(x: Tensor) -> Tensor:
    """Leaves out nothing."""
    return x


class PolicyNetwork(nn.Module):
    """h(y|x): contexts (n, d) to logits (n, size).

    Choice: the appendix ends in a Sigmoid; we stop at the logits, because log-probabilities and relaxed
    samples are exact from logits and lose digits from probabilities.
    """

    def __init__(self, features: int, outputs: int, size: NetworkSize, generator: torch.Generator) -> None:
        super().__init__()
        self.size = size
        self.layers = _stack(features, outputs, size, generator)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        return logits

    def thinned(self, x: Tensor, inputs: Thin, hidden: Thin) -> Tensor:
        """The same with some of its inputs and of its hidden nodes left out."""
        x = inputs(x)
        for layer in self.layers:
            x = layer(x)
            if isinstance(layer, nn.ReLU):
                x = hidden(x)
        return x


def _stack(inputs: int, outputs: int, size: NetworkSize, generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    width = inputs
    for nodes in size.hidden:
        layers.append(_linear(width, nodes, generator))
        if size.batch_norm:
            layers.append(nn.BatchNorm1d(nodes))
        layers.append(nn.ReLU())
        width = nodes
    layers.append(_linear(width, outputs, generator))
    return nn.Sequential(*layers)


class _Bare(nn.Linear):
    """A layer whose numbers come later: torch's own would draw from its global generator.

    Building it on the device "meta" would do as well, but imports a computer algebra system: two seconds.
    """

    def reset_parameters(self) -> None:
        """Leaves the numbers as they are."""


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A Linear layer with torch's usual range, 1 / sqrt(inputs), drawn from our generator."""
    layer = _Bare(inputs, outputs)
    reach = 1.0 / math.sqrt(inputs)
    for parameter in (layer.weight, layer.bias):
        nn.init.uniform_(parameter, -reach, reach, generator=generator)
    return layer


class EnsembleNetwork(PolicyNetwork):
    """Logits (n, size) of a policy `sharpness` times as sure as mean_k p_k(x), never surer than 1 - 1e-6.

    A sharpness of 1 acts with the mean probability, `GREEDY` takes what is most likely. It is part of the
    state, so that an epoch's sharpness comes back with its weights.
    """

    def __init__(self, members: Sequence[PolicyNetwork], space: TorchSpace, sharpness: float = 1.0) -> None:
        nn.Module.__init__(self)  # the members have the layers
        self.space = space
        self.members = nn.ModuleList(members)
        self.sharpness: Tensor
        self.register_buffer("sharpness", torch.tensor(float(sharpness)))

    @property
    def own_members(self) -> list[PolicyNetwork]:
        return [member for member in self.members if isinstance(member, PolicyNetwork)]

    def sharpen(self, sharpness: float) -> None:
        """Act with another sharpness from now on."""
        self.sharpness.fill_(sharpness)

    def forward(self, x: Tensor) -> Tensor:
        return self.space.sharpened(self.probabilities(x), self.sharpness)

    def probabilities(self, x: Tensor) -> Tensor:
        """mean_k p_k(x): (n, size); the members' tables are made for some rows at a time."""
        rows = max(1, BLOCK_NUMBERS // max(1, self.space.size))
        lots = [x[start : start + rows] for start in range(0, max(1, len(x)), rows)]
        tables = (torch.stack([self.chances(member(lot)) for member in self.members]) for lot in lots)
        return torch.cat([table.mean(dim=0) for table in tables])

    def chances(self, outputs: Tensor) -> Tensor:
        """p_k(x) from a member's outputs (n, size)."""
        return self.space.probabilities(outputs)

    def scores(self, outputs: Tensor) -> Tensor:
        """Logits of a policy that is as sure as a member, from its outputs (n, size)."""
        return outputs


class ChanceEnsemble(EnsembleNetwork):
    """Members that give the chance of each of K actions to be right.

    By a softmax, where one action alone is right; by a sigmoid of each, where any number may be. `offset`
    (K,) is added to their outputs: it rules out actions that nobody ever took. Both are part of the state.
    """

    def __init__(self, members: Sequence[PolicyNetwork], space: TorchSpace, sharpness: float = 1.0) -> None:
        super().__init__(members, space, sharpness)
        self.independent: Tensor
        self.register_buffer("independent", torch.tensor(0.0))
        self.offset: Tensor
        self.register_buffer("offset", torch.zeros(space.size))

    def chances(self, outputs: Tensor) -> Tensor:
        z = outputs + self.offset
        return torch.sigmoid(z) if self.independent else super().chances(z)

    def scores(self, outputs: Tensor) -> Tensor:
        z = outputs + self.offset
        return logsigmoid(z) if self.independent else z


ENSEMBLES: dict[str, type[EnsembleNetwork]] = {"labels": EnsembleNetwork, "one-of": ChanceEnsemble}
"""By the name of the action space."""


def network_logits(network: PolicyNetwork, x: Tensor) -> Matrix:
    """Logits (n, q) with running BatchNorm statistics and no gradient, in float64."""
    network.eval()
    with torch.no_grad():
        first: Tensor = network(x[:WHOLE_ROWS])
        if len(x) <= WHOLE_ROWS:
            return first.double().numpy()
        made = np.empty((len(x), first.shape[1]))
        made[:WHOLE_ROWS] = first.numpy()
        for start in range(WHOLE_ROWS, len(x), WHOLE_ROWS):
            made[start : start + WHOLE_ROWS] = network(x[start : start + WHOLE_ROWS]).numpy()
    return made
