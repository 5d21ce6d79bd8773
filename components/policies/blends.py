"""Networks with a start of their own, and blends of several that act as one member of an ensemble."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid

from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, Thin, leave_out_nothing

REACH = 5.0  # of the logits that a network is added to: what is surer could not be corrected any more


@dataclass(frozen=True)
class LinearLogits:
    """Logits x slope' + level of contexts x (n, d): `slope` (size, d), `level` (size,)."""

    slope: Tensor
    level: Tensor


class StartedNetwork(PolicyNetwork):
    """A network whose inputs are multiplied by `scale` (d,), added to linear logits if there are any.

    Both are part of the state and are not trained.
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        size: NetworkSize,
        generator: torch.Generator,
        adds: bool = False,
    ) -> None:
        super().__init__(features, outputs, size, generator)
        rows = outputs if adds else 0
        self.scale: Tensor
        self.slope: Tensor
        self.level: Tensor
        self.register_buffer("scale", torch.ones(features))
        self.register_buffer("slope", torch.zeros(rows, features))
        self.register_buffer("level", torch.zeros(rows))

    @property
    def adds(self) -> bool:
        """Whether it is added to linear logits."""
        return len(self.level) > 0

    def add_to(self, logits: LinearLogits) -> None:
        """Be added to these from now on."""
        self.slope.copy_(logits.slope)
        self.level.copy_(logits.level)

    def forward(self, x: Tensor) -> Tensor:
        return self.thinned(x, leave_out_nothing, leave_out_nothing)

    def thinned(self, x: Tensor, inputs: Thin, hidden: Thin) -> Tensor:
        """What it is added to sees the inputs whole."""
        outputs = super().thinned(x * self.scale, inputs, hidden)
        if not self.adds:
            return outputs
        return outputs + self.base(x)

    def base(self, x: Tensor) -> Tensor:
        """What it is added to, at contexts (n, d): (n, size)."""
        return (x @ self.slope.T + self.level).clamp(-REACH, REACH)


class BlendNetwork(PolicyNetwork):
    """Logits of sum_c w_c p_c(x), the mean chance of several networks: (n, size).

    Chances are a softmax of the outputs, or (`one` is 0) a sigmoid of each; `offset` (size,) is added to the
    outputs before. Weights, kind and offset are part of the state.
    """

    def __init__(self, parts: Sequence[PolicyNetwork], outputs: int) -> None:
        nn.Module.__init__(self)  # the parts have the layers
        self.size = parts[0].size
        self.parts = nn.ModuleList(parts)
        self.weights: Tensor
        self.one: Tensor
        self.offset: Tensor
        self.register_buffer("weights", torch.full((len(parts),), 1.0 / len(parts)))
        self.register_buffer("one", torch.tensor(0.0))
        self.register_buffer("offset", torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        used = [(weight, part) for weight, part in zip(self.weights, self.parts, strict=True) if weight > 0]
        z = torch.stack([part(x) + self.offset for _, part in used])
        log_weights = torch.stack([weight.log() for weight, _ in used]).view(-1, 1, 1)
        if self.one:
            return torch.logsumexp(log_weights + log_softmax(z, dim=2), dim=0)
        right, wrong = log_weights + logsigmoid(z), log_weights + logsigmoid(-z)
        return torch.logsumexp(right, dim=0) - torch.logsumexp(wrong, dim=0)


def blank_blend(features: int, outputs: int, size: NetworkSize, adds: Sequence[bool]) -> BlendNetwork:
    """A blend of the right shape, whose numbers are still to come; `adds` says so of each part."""
    parts = [StartedNetwork(features, outputs, size, torch.Generator(), one) for one in adds]
    return BlendNetwork(parts, outputs)


def blend_shape(member: nn.Module) -> list[bool] | None:
    """What `blank_blend` needs to know of a blend's parts; None of any other network."""
    if not isinstance(member, BlendNetwork):
        return None
    return [isinstance(part, StartedNetwork) and part.adds for part in member.parts]
