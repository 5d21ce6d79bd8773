"""Networks of one shape, stepped together: their parameters in one stack, their passes in one product."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multilogger.components.policies.networks import PolicyNetwork, Thin


class NetworkStack(nn.Module):
    """K networks without BatchNorm: contexts (K, b, d), some for each, to outputs (K, b, size).

    The networks keep their parameters as views of the stack, so that a step of the stack is a step of each,
    and numbers that a network is given reach the stack.
    """

    def __init__(self, members: Sequence[PolicyNetwork]) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for layers in zip(*(member.layers for member in members), strict=True):
            linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
            if linear:
                self.weights.append(_shared([layer.weight for layer in linear]))
                self.biases.append(_shared([layer.bias for layer in linear]))

    def forward(self, x: Tensor, inputs: Thin, hidden: Thin) -> Tensor:
        """Some inputs and hidden nodes are left out by `inputs` and `hidden`."""
        x = inputs(x)
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))
            if number < last:
                x = hidden(torch.relu(x))
        return x


def _shared(parameters: Sequence[Tensor]) -> nn.Parameter:
    """One parameter (K, ...) of which each of K is from now on a part."""
    stack = nn.Parameter(torch.stack([one.detach() for one in parameters]))
    for k, one in enumerate(parameters):
        one.data = stack.data[k]
    return stack
