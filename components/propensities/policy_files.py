"""Estimated policies of loggers as a file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.loggers.linear import LinearPolicy
from multilogger.components.propensities.policy import EstimatedPolicy

PARTS = ("weights", "alpha", "mixing", "marginal")


def save_estimated(path: Path, policies: Sequence[EstimatedPolicy]) -> None:
    """Write the policies of the loggers, in their order, to one safetensors file."""
    from safetensors.numpy import save_file

    tensors = {}
    for j, policy in enumerate(policies):
        if policy.splits is not None:
            raise BadInput("a policy of a tree cannot be saved; estimate with settings without leaves")
        tensors[f"{j}/weights"] = np.ascontiguousarray(policy.linear.weights)
        tensors[f"{j}/alpha"] = np.array([policy.linear.alpha])
        tensors[f"{j}/mixing"] = np.array([policy.mixing])
        tensors[f"{j}/marginal"] = np.ascontiguousarray(policy.marginal)
    save_file(tensors, path)


def load_estimated(path: Path, space: ActionSpace) -> tuple[EstimatedPolicy, ...]:
    """Read what `save_estimated` wrote."""
    from safetensors.numpy import load_file

    tensors = load_file(path)
    return tuple(
        EstimatedPolicy(
            LinearPolicy(tensors[f"{j}/weights"], float(tensors[f"{j}/alpha"][0])),
            float(tensors[f"{j}/mixing"][0]),
            tensors[f"{j}/marginal"],
            space,
        )
        for j in range(len(tensors) // len(PARTS))
    )
