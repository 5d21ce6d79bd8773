"""The discriminators T of section 4.1 (appendix, "Network Configurations"): all J of them side by side.

(Linear -> BatchNorm -> ReLU) for each hidden layer, then Linear, on rows [x, 1, y]; the 1 is the bias. One
batched product serves all loggers, and the share of x in the first layer is worked out once for all actions
that are asked for at it.
"""

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from multilogger.components.errors import BadInput
from multilogger.components.policies.network_size import NetworkSize


class Discriminators(nn.Module):
    """T_j(x, y) for `count` loggers: contexts (J, B, d) and actions (J, B, q), which may be relaxed.

    Nodes come before rows in all that follows, so that one BatchNorm takes the nodes of all loggers. It goes
    by the statistics of its batch alone: a discriminator is only ever asked while it is trained.
    """

    def __init__(
        self, count: int, features: int, actions: int, size: NetworkSize, generator: torch.Generator
    ) -> None:
        super().__init__()
        widths = (*size.hidden, 1)
        reach = 1.0 / math.sqrt(features + 1 + actions)
        self.count, self.features, self.size = count, features, actions
        self.of_context = _uniform((count, widths[0], features), reach, generator)
        self.of_action = _uniform((count, widths[0], actions), reach, generator)
        self.biases = nn.ParameterList([_uniform((count, widths[0], 1), reach, generator)])
        self.weights = nn.ParameterList()
        for nodes, after in itertools.pairwise(widths):
            reach = 1.0 / math.sqrt(nodes)
            self.weights.append(_uniform((count, after, nodes), reach, generator))
            self.biases.append(_uniform((count, after, 1), reach, generator))
        hidden = size.hidden if size.batch_norm else ()
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(count * nodes)) for nodes in hidden])
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(count * nodes)) for nodes in hidden])

    def contexts(self, x: Tensor) -> Tensor:
        """The share of contexts (J, B, d) in the first layer: (J, h, B)."""
        if x.shape[::2] != (self.count, self.features):
            raise BadInput(
                f"T needs contexts of {self.count} loggers and {self.features} features, got {tuple(x.shape)}"
            )
        return torch.baddbmm(self.biases[0], self.of_context, x.transpose(1, 2))

    def actions(self, contexts: Tensor, *lots: Tensor) -> tuple[Tensor, ...]:
        """T at each lot of actions (J, B, q), all at the contexts whose share is given: (J, B) each.

        Choice: all lots are normalised together. BatchNorm by the statistics of each lot would make T another
        function for each, and F no lower bound of a divergence.
        """
        rows = contexts.shape[2]
        for y in lots:
            if y.shape != (self.count, rows, self.size):
                raise BadInput(
                    f"T needs one action of {self.size} numbers per context, {rows} for each of "
                    f"{self.count} loggers, got {tuple(y.shape)}"
                )
        z = torch.cat([torch.baddbmm(contexts, self.of_action, y.transpose(1, 2)) for y in lots], dim=2)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases[1:], strict=True)):
            z = torch.baddbmm(bias, weight, self._normalised(z, layer).relu_())
        return torch.split(z.squeeze(1), rows, dim=1)

    def _normalised(self, z: Tensor, layer: int) -> Tensor:
        """Every node of a layer (J, h, rows) at mean 0 and variance 1 over its rows, scaled and shifted."""
        if not self.scales:
            return z
        nodes = z.reshape(1, -1, z.shape[2])
        scale, shift = self.scales[layer], self.shifts[layer]
        return batch_norm(nodes, None, None, scale, shift, training=True).view_as(z)


def _uniform(shape: tuple[int, ...], reach: float, generator: torch.Generator) -> nn.Parameter:
    """Numbers of torch's usual range for a Linear layer, drawn from our generator."""
    return nn.Parameter(torch.empty(shape).uniform_(-reach, reach, generator=generator))
