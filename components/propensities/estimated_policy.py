"""A logger as its rows show it: a regression or a tree, mixed with how often it takes each action."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.loggers.linear import LinearPolicy
from multilogger.components.propensities.trees import Splits

PARTS = ("weights", "alpha", "mixing", "marginal")  # of each policy in the file


@dataclass(frozen=True)
class EstimatedPolicy:
    """h(y|x) = (1 - e) softmax(T z(x))_y + e m_y for one of K; the same label by label for label vectors.

    `linear` has the logits z and the temperature T as its alpha; `mixing` is e; `marginal` (size,) is m. With
    `splits`, z is linear in the leaves of a tree.
    """

    linear: LinearPolicy
    mixing: float
    marginal: Vector
    space: ActionSpace
    splits: Splits | None = None

    def logits(self, x: Features) -> Matrix:
        """Logits of every row of x (n, d): (n, size)."""
        return self.space.logits_of(self.probabilities(x))

    def raw_logits(self, x: Features) -> Matrix:
        """T z(x), before it is mixed: (n, size)."""
        return self.linear.logits(x if self.splits is None else self.splits.indicators(x))

    def probabilities(self, x: Features) -> Matrix:
        """Of each action, or of each label to be 1: (n, size)."""
        return self.mixed(self.raw_logits(x))

    def mixed(self, logits: Matrix) -> Matrix:
        """Probabilities (n, size) from raw logits."""
        return (1.0 - self.mixing) * self.space.probabilities(logits) + self.mixing * self.marginal

    def recalibrated(self, temperature: float, mixing: float) -> "EstimatedPolicy":
        """The same model with another temperature and another share of the marginal distribution."""
        return replace(self, linear=replace(self.linear, alpha=temperature), mixing=mixing)


def marginal_of(action: Actions, space: ActionSpace) -> Vector:
    """How often each action is taken, or each label is 1: (size,).

    Choice: every action counts as if it had been taken once more (each label once more as 0 and as 1), so
    that an action that was never seen is rare and not impossible.
    """
    if space.action_shape:
        return np.asarray((action.sum(axis=0, dtype=np.float64) + 1.0) / (len(action) + 2.0))
    counts = np.bincount(action, minlength=space.size).astype(np.float64)
    return np.asarray((counts + 1.0) / (len(action) + space.size))


def chances(p: Matrix, action: Actions, space: ActionSpace) -> Matrix:
    """The factors of h(y|x) from probabilities p (n, size): (n, 1) for one of K, (n, q) for label vectors."""
    if space.action_shape:
        return np.where(action == 1, p, 1.0 - p)
    return np.asarray(p[np.arange(len(action)), action][:, None])


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
