"""The state of a run as named tensors and numbers, and its checkpoint: safetensors and JSON, never pickle."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from multilogger.components.errors import BadInput

INDEX = "checkpoint.json"
LAYOUT = 3  # where learners keep what; a checkpoint of another one is not gone on from


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


def save_checkpoint(folder: Path, epoch: int, state: State, facts: dict[str, object]) -> None:
    """Write a checkpoint; one that is cut off while writing leaves the last one whole."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    arrays = folder / f"epoch-{epoch}.safetensors"
    save_file({name: value.contiguous() for name, value in state.tensors.items()}, arrays)
    index = {
        "layout": LAYOUT,
        "epoch": epoch,
        "arrays": arrays.name,
        "numbers": state.numbers,
        "facts": facts,
    }
    draft = folder / f"{INDEX}.draft"
    draft.write_text(json.dumps(index))
    draft.replace(folder / INDEX)
    for old in folder.glob("epoch-*.safetensors"):
        if old != arrays:
            old.unlink()


@dataclass(frozen=True)
class Checkpoint:
    """What `save_checkpoint` wrote."""

    epoch: int
    state: State
    facts: dict[str, object]


def load_checkpoint(folder: Path, run: dict[str, object]) -> Checkpoint | None:
    """The checkpoint in a folder, None if it holds none of this layout; refuse one of another run.

    `run` is what must agree with the facts under `run`: method, seed, settings, size of the log.
    """
    from safetensors.torch import load_file

    if not (folder / INDEX).exists():
        return None
    index = json.loads((folder / INDEX).read_text())
    if index.get("layout") != LAYOUT:
        return None  # of another version, whose learners keep their state in other places
    theirs, ours = index["facts"]["run"], json.loads(json.dumps(run))
    if theirs != ours:
        differing = sorted(name for name in ours.keys() | theirs.keys() if theirs.get(name) != ours.get(name))
        raise BadInput(
            f"the checkpoint in {folder} is of another run, it differs in {', '.join(differing)}; "
            "give an empty folder, or the settings that it was made with"
        )
    return Checkpoint(
        index["epoch"], State(load_file(folder / index["arrays"]), index["numbers"]), index["facts"]
    )
