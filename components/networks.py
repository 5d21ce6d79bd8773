"""Networks of the policy h and of the discriminator T (appendix, "Network Configurations").

(Linear -> BatchNorm -> ReLU) for each hidden layer, then Linear. The appendix has two hidden layers, the text
on Yeast one (policy 10 nodes, T 59), so sizes are settings.
"""

import math

import torch
from torch import Tensor, nn

from multilogger.components.errors import BadInput
from multilogger.components.network_size import NetworkSize


class PolicyNetwork(nn.Module):
    """h(y|x): contexts (n, d) to logits (n, q).

    Choice: the appendix ends in a Sigmoid; we stop at the logits, because log-probabilities and relaxed
    samples are exact from logits and lose digits from probabilities.
    """

    def __init__(self, features: int, labels: int, size: NetworkSize, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = _stack(features, labels, size, generator)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        return logits


class Discriminator(nn.Module):
    """T(x, y) (section 4.1): contexts (n, d) and actions (n, q), which may be relaxed, to (n,).

    The network sees the row [x, 1, y].
    """

    def __init__(self, features: int, labels: int, size: NetworkSize, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = _stack(features + 1 + labels, 1, size, generator)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        _check_lots((x, y))
        ones = torch.ones(len(x), 1, dtype=x.dtype, device=x.device)
        values: Tensor = self.layers(torch.cat([x, ones, y.to(x.dtype)], dim=1))
        return values.squeeze(1)

    def of_both(self, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
        """T of two lots of contexts and actions in one call, the first lot's values first.

        As `forward` of them joined, but contexts, which are most of a row, are copied once and not twice.
        """
        _check_lots(first, second)
        features = first[0].shape[1]
        rows = first[0].new_empty(len(first[0]) + len(second[0]), features + 1 + first[1].shape[1])
        start = 0
        for x, y in (first, second):
            here = rows[start : start + len(x)]
            here[:, :features] = x
            here[:, features] = 1.0
            here[:, features + 1 :] = y
            start += len(x)
        values: Tensor = self.layers(rows)
        return values.squeeze(1)


def _check_lots(*lots: tuple[Tensor, Tensor]) -> None:
    for x, y in lots:
        if len(x) != len(y):
            raise BadInput(f"T needs one action a context, got {len(x)} contexts and {len(y)} actions")
        if (x.shape[1], y.shape[1]) != (lots[0][0].shape[1], lots[0][1].shape[1]):
            raise BadInput("T needs contexts of one width and actions of one width, got several")


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


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A Linear layer with torch's usual range, 1 / sqrt(inputs), drawn from our generator."""
    # Built without numbers first, so that torch's own initialisation does not draw from the global generator.
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    reach = 1.0 / math.sqrt(inputs)
    for parameter in (layer.weight, layer.bias):
        nn.init.uniform_(parameter, -reach, reach, generator=generator)
    return layer
