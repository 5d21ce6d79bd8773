"""A learned policy: a network (or linear map) with the scaling of its inputs, and its two files.

`policy.safetensors` holds all arrays, `policy.json` the shape of the network and how it was learned.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.space import ActionSpace, find_space
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput, first_line, short
from multilogger.components.json_text import parsed_json
from multilogger.components.policies.blends import blank_blend, blend_shape
from multilogger.components.policies.feature_scaling import moments, scaled
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import (
    ENSEMBLES,
    EnsembleNetwork,
    PolicyNetwork,
    network_logits,
)

BLOCK_ROWS = 4096  # fixed, so that the bits of a row's logits do not depend on how many rows are asked for
SMALLEST_SCALE = 1e-6  # a feature that never varies is left as it is


@dataclass(frozen=True)
class Standardisation:
    """x -> (x - mean) / scale, feature by feature: (d,) each."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    def __call__(self, x: Features) -> Tensor:
        """Contexts (n, d), dense or sparse, as the network reads them."""
        return torch.from_numpy(scaled(x, self.mean, self.scale))

    @classmethod
    def of(cls, x: Features, standardise: bool) -> "Standardisation":
        """Fitted to the contexts, or none."""
        return cls.fit(x) if standardise else cls.none(int(x.shape[1]))

    @classmethod
    def fit(cls, x: Features) -> "Standardisation":
        """Mean 0 and variance 1 over the given contexts."""
        found = moments(x)
        scale = np.where(found.spread < SMALLEST_SCALE, 1.0, found.spread)
        return cls(found.mean.astype(np.float32), scale.astype(np.float32))

    @classmethod
    def none(cls, features: int) -> "Standardisation":
        """Leave contexts as they are."""
        return cls(np.zeros(features, dtype=np.float32), np.ones(features, dtype=np.float32))


@dataclass(frozen=True)
class LearnedPolicy:
    """h(y|x) as learned by `method`; `size` without hidden layers is a linear policy.

    The network may be an ensemble, whose members all have this size. `settings` say how it was learned and
    are not needed to act.
    """

    network: PolicyNetwork
    size: NetworkSize
    standardisation: Standardisation
    space: ActionSpace
    method: str
    seed: int
    settings: Mapping[str, Any]

    @property
    def features(self) -> int:
        return len(self.standardisation.mean)

    def logits(self, x: Features) -> Matrix:
        """Logits of every row of x (n, d), dense or sparse: (n, size)."""
        if x.shape[1] != self.features:
            raise BadInput(
                f"the policy expects {self.features} features, got {x.shape[1]}; "
                "use the dataset it was learned on"
            )
        found = np.empty((x.shape[0], self.space.size))
        for start in range(0, x.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            found[rows] = network_logits(self.network, self.standardisation(x[rows]))
        return found

    def mean_probabilities(self, x: Features) -> Matrix:
        """The members' mean p(x) of an ensemble before it is sharpened, contexts (n, d): (n, q)."""
        if not isinstance(self.network, EnsembleNetwork):
            raise BadInput(f"a policy of {self.method!r} is one network; only an ensemble has a mean")
        self.network.eval()
        with torch.no_grad():
            blocks = [
                self.network.probabilities(self.standardisation(x[start : start + BLOCK_ROWS])).double()
                for start in range(0, x.shape[0], BLOCK_ROWS)
            ]
        return torch.cat(blocks).numpy()

    def save(self, folder: Path) -> None:
        """Write `policy.safetensors` and `policy.json` into a folder that exists."""
        from safetensors.torch import save_file

        tensors = {f"network/{name}": value.contiguous() for name, value in self.network.state_dict().items()}
        tensors["standardisation/mean"] = torch.from_numpy(self.standardisation.mean)
        tensors["standardisation/scale"] = torch.from_numpy(self.standardisation.scale)
        save_file(tensors, folder / "policy.safetensors")
        facts: dict[str, Any] = {
            "method": self.method,
            "seed": self.seed,
            "features": self.features,
            **_space_facts(self.space),
            "hidden": list(self.size.hidden),
            "batch_norm": self.size.batch_norm,
            "settings": dict(self.settings),
        }
        if isinstance(self.network, EnsembleNetwork):
            facts["members"] = len(self.network.members)
            first: torch.nn.Module = self.network.members[0]
            if isinstance(first, EnsembleNetwork):  # an ensemble of ensembles
                facts["inner"], first = len(first.members), first.members[0]
            shape = blend_shape(first)
            facts |= {} if shape is None else {"adds": shape}
        (folder / "policy.json").write_text(json.dumps(facts, indent=2) + "\n")
        (folder / "policy.safetensors").chmod((folder / "policy.json").stat().st_mode)  # else for us alone


def _space_facts(space: ActionSpace) -> dict[str, Any]:
    """What the actions are; policies of labels say it as they always did."""
    if isinstance(space, Labels):
        return {"labels": space.size}
    return {"actions": space.name, "size": space.size}


def load_policy(folder: Path) -> LearnedPolicy:
    """Read what `LearnedPolicy.save` wrote."""
    from safetensors import SafetensorError

    try:
        return _read_policy(folder)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadInput(
            f"{folder / 'policy.json'} is no policy, or it is damaged ({type(error).__name__}: "
            f"{first_line(error)}); save the policy again"
        ) from error
    except (SafetensorError, RuntimeError) as error:
        raise BadInput(
            f"{folder / 'policy.safetensors'} is damaged, or of another policy than policy.json "
            f"({first_line(error)}); save the policy again"
        ) from error


def _read_policy(folder: Path) -> LearnedPolicy:
    from safetensors.torch import load_file

    facts = parsed_json((folder / "policy.json").read_text())
    size = NetworkSize(tuple(facts["hidden"]), facts["batch_norm"])
    tensors = load_file(folder / "policy.safetensors")
    space = find_space(facts["actions"], facts["size"]) if "actions" in facts else Labels(facts["labels"])
    _check_sizes(facts, size, space, tensors)
    counts = facts.get("members"), facts.get("inner")
    network = _blank_network(facts["features"], space, size, counts, facts.get("adds"))
    network.load_state_dict(
        {
            name.removeprefix("network/"): value
            for name, value in tensors.items()
            if name.startswith("network/")
        }
    )
    return LearnedPolicy(
        network=network.eval(),
        size=size,
        standardisation=Standardisation(
            tensors["standardisation/mean"].numpy(), tensors["standardisation/scale"].numpy()
        ),
        space=space,
        method=facts["method"],
        seed=facts["seed"],
        settings=facts["settings"],
    )


def _check_sizes(
    facts: dict[str, Any], size: NetworkSize, space: ActionSpace, tensors: dict[str, torch.Tensor]
) -> None:
    """Refuse a network that is larger than its file before it is made, and a scale of another shape."""
    widths = [facts["features"], *size.hidden, space.size]
    members, inner = facts.get("members") or 1, facts.get("inner") or 1
    sizes = (*widths, members, inner)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in sizes):
        raise ValueError(f"sizes must be whole numbers above 0, got {widths} and {members} members")
    adds = facts.get("adds")
    if adds is not None and not (isinstance(adds, list) and adds and {type(one) for one in adds} == {bool}):
        raise ValueError(f"adds must be a list of true and false, one of each part, got {short(adds)}")
    stated = members * inner * len(adds or (1,)) * sum(a * b for a, b in pairwise(widths))
    held = sum(value.numel() for name, value in tensors.items() if name.startswith("network/"))
    if stated > held:
        raise ValueError(f"it says a network of {stated:.4g} weights, policy.safetensors has {held}")
    for name in ("standardisation/mean", "standardisation/scale"):
        if tuple(tensors[name].shape) != (facts["features"],):
            raise ValueError(
                f"{name} must have {facts['features']} numbers, one per feature, got the shape "
                f"{tuple(tensors[name].shape)}"
            )
        if tensors[name].dtype != torch.float32:
            raise ValueError(f"{name} must be of the type float32, got {tensors[name].dtype}")
    if odd := [name for name, value in tensors.items() if value.is_complex()]:
        raise ValueError(f"{odd[0]} must be of the type float32, got {tensors[odd[0]].dtype}")


def _blank_network(
    features: int,
    space: ActionSpace,
    size: NetworkSize,
    counts: tuple[int | None, int | None],
    adds: Sequence[bool] | None = None,
) -> PolicyNetwork:
    """A network of the right shape, whose numbers are still to come; `adds` of a blend's parts.

    `counts` are the members of an ensemble, and those of each member that is one itself.
    """

    def blank(level: int) -> PolicyNetwork:
        if level < len(counts) and (count := counts[level]) is not None:
            return ENSEMBLES[space.name]([blank(level + 1) for _ in range(count)], space.torch)
        if adds is not None:
            return blank_blend(features, space.size, size, adds)
        return PolicyNetwork(features, space.size, size, torch.Generator())

    return blank(0)
