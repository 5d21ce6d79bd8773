"""The state of a run as named tensors and numbers."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class State:
    """Arrays and plain numbers; names are paths such as `network/layers.0.weight`."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    def below(self, prefix: str) -> "State":
        """What stands under a prefix, without it."""
        start = f"{prefix}/"
        return State(
            {name.removeprefix(start): v for name, v in self.tensors.items() if name.startswith(start)},
            {name.removeprefix(start): v for name, v in self.numbers.items() if name.startswith(start)},
        )

    def under(self, prefix: str) -> "State":
        """The same with a prefix before each name."""
        return State(
            {f"{prefix}/{name}": v for name, v in self.tensors.items()},
            {f"{prefix}/{name}": v for name, v in self.numbers.items()},
        )

    def __or__(self, other: "State") -> "State":
        return State(self.tensors | other.tensors, self.numbers | other.numbers)


def module_state(module: nn.Module) -> State:
    """Parameters and running statistics, copied."""
    return State({name: value.detach().clone() for name, value in module.state_dict().items()})


def optimiser_state(optimiser: torch.optim.Optimizer) -> State:
    """Adam's moments and steps, as `<parameter number>/<name>`."""
    entries = optimiser.state_dict()["state"]
    return State(
        {
            f"{i}/{name}": torch.as_tensor(v).clone()
            for i, entry in entries.items()
            for name, v in entry.items()
        }
    )


def restore_optimiser(optimiser: torch.optim.Optimizer, state: State) -> None:
    """Put back what `optimiser_state` took."""
    entries: dict[int, dict[str, Tensor]] = {}
    for path, value in state.tensors.items():
        number, name = path.split("/", 1)
        entries.setdefault(int(number), {})[name] = value.clone()
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": entries, "param_groups": groups})
