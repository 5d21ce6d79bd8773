"""Reference policies, which learn nothing from the log: the loggers, the best of them greedy, the CRF."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.loggers.linear import LinearPolicy
from multilogger.components.names import logger_name
from multilogger.components.policies.network_size import LINEAR

if TYPE_CHECKING:
    from multilogger.components.policies.policy import LearnedPolicy

GREEDY_ALPHA = 1e4  # so sharp that only a logit within 1e-3 of 0 leaves its label to chance


def reference_names(loggers: int = 2) -> tuple[str, ...]:
    """The references that a number of loggers gives."""
    return (*(logger_name(j) for j in range(loggers)), "crf", "best-logger-greedy")


def check_reference(method: str, loggers: int) -> None:
    """Refuse a reference that this number of loggers does not give."""
    if method not in reference_names(loggers):
        known = ", ".join(reference_names(loggers))
        raise BadInput(f"there is no reference {method!r} of {loggers} loggers; choose one of {known}")


@dataclass(frozen=True)
class References:
    """What the references are made of: h_1..h_J, the CRF, and each logger's mean loss on validation rows."""

    space: ActionSpace
    loggers: tuple[LinearPolicy, ...]
    crf: LinearPolicy
    validation_loss: tuple[float, ...]


def is_reference(method: str) -> bool:
    """Whether a method's name is that of a reference, for some number of loggers."""
    return method in reference_names() or re.fullmatch("logger-[1-9][0-9]*", method) is not None


def reference_policy(method: str, references: References, seed: int) -> "LearnedPolicy":
    """The reference of this name, in the form of a learned policy."""
    check_reference(method, len(references.loggers))
    return as_learned(_linear_policy(method, references), references.space, method, seed)


def as_learned(policy: LinearPolicy, space: ActionSpace, method: str, seed: int) -> "LearnedPolicy":
    """A linear policy as a network without hidden layers."""
    import torch

    from multilogger.components.policies.networks import PolicyNetwork
    from multilogger.components.policies.policy import LearnedPolicy, Standardisation

    outputs, columns = policy.weights.shape
    network = PolicyNetwork(columns - 1, outputs, LINEAR, torch.Generator())
    scaled = torch.from_numpy((policy.alpha * policy.weights).astype(np.float32))
    weight, bias = network.parameters()
    with torch.no_grad():
        weight.copy_(scaled[:, :-1])
        bias.copy_(scaled[:, -1])
    return LearnedPolicy(
        network=network.eval(),
        size=LINEAR,
        standardisation=Standardisation.none(columns - 1),
        space=space,
        method=method,
        seed=seed,
        settings={},
    )


def _linear_policy(method: str, references: References) -> LinearPolicy:
    if method == "crf":
        return references.crf
    if method == "best-logger-greedy":
        best = references.loggers[int(np.argmin(references.validation_loss))]
        return LinearPolicy(best.weights, best.alpha * GREEDY_ALPHA)
    return references.loggers[int(method.removeprefix("logger-")) - 1]
