"""Losses delta(x, y) of an action y against the true one, and their expectation under a policy.

Which loss applies is a property of the dataset. All of the paper's use the Hamming loss.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.label_losses import expected_hamming, expected_neighbours, hamming
from multilogger.components.actions.one_of import log_probability as log_choice
from multilogger.components.errors import BadInput


@dataclass(frozen=True)
class LossWords:
    """What tables and notes call a loss: `value` of one action, `expected` under a policy (EXP).

    `likeliest` is what the greedy loss is of, and `greedy` heads its column.
    """

    value: str
    expected: str
    likeliest: str
    greedy: str = "greedy"


class Loss(Protocol):
    """A loss of the actions of one space."""

    @property
    def name(self) -> str: ...

    @property
    def words(self) -> LossWords: ...

    @property
    def space(self) -> str:
        """The name of that space."""

    def value(self, y: Actions, truth: Actions) -> Vector:
        """delta(x, y) of each row, from actions and true actions: (n,)."""
        ...

    def expected(self, logits: Matrix, truth: Actions) -> Vector:
        """E_{y ~ h(.|x)} delta(x, y) of each row in closed form, logits (n, size): (n,)."""
        ...

    def largest(self, size: int) -> float:
        """L, the largest loss that an action of a space of this size can have."""
        ...


@dataclass(frozen=True)
class Hamming:
    """The number of wrong labels (section 5.1.1)."""

    name: str = "hamming"
    space: str = "labels"
    words = LossWords("Hamming loss", "expected Hamming loss", "the most likely labels")

    def value(self, y: Actions, truth: Actions) -> Vector:
        return hamming(y, truth)

    def expected(self, logits: Matrix, truth: Actions) -> Vector:
        return expected_hamming(logits, truth)

    def largest(self, size: int) -> float:
        return float(size)


@dataclass(frozen=True)
class Crowding:
    """Wrong labels, and a penalty for each pair of neighbouring labels that are taken together.

    delta = ( sum_l [y_l != t_l] + penalty sum_l y_l y_{l+1} ) / (1 + penalty),  l + 1 counted in a ring.

    Not additive: what a label costs depends on its neighbours. Scaled to [0, q], as the Hamming loss is.
    """

    penalty: float = 1.5
    name: str = "crowding"
    space: str = "labels"
    words = LossWords("loss", "expected loss", "the most likely labels")

    def value(self, y: Actions, truth: Actions) -> Vector:
        together = (y * np.roll(y, -1, axis=1)).sum(axis=1)
        return self._joined(hamming(y, truth), together.astype(np.float64))

    def expected(self, logits: Matrix, truth: Actions) -> Vector:
        return self._joined(expected_hamming(logits, truth), expected_neighbours(logits))

    def largest(self, size: int) -> float:
        return float(size)

    def _joined(self, wrong: Vector, together: Vector) -> Vector:
        return np.asarray((wrong + self.penalty * together) / (1.0 + self.penalty), dtype=np.float64)


@dataclass(frozen=True)
class ZeroOne:
    """1 for any action but the right one."""

    name: str = "zero-one"
    space: str = "one-of"
    words = LossWords("error", "expected loss", "the most likely action", greedy="error")

    def value(self, y: Actions, truth: Actions) -> Vector:
        return np.asarray(y != truth, dtype=np.float64)

    def expected(self, logits: Matrix, truth: Actions) -> Vector:
        return np.asarray(-np.expm1(log_choice(logits, truth)), dtype=np.float64)

    def largest(self, size: int) -> float:
        return 1.0


HAMMING, CROWDING, ZERO_ONE = Hamming(), Crowding(), ZeroOne()
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (HAMMING, CROWDING, ZERO_ONE)}
USUAL_LOSS: dict[str, str] = {HAMMING.space: HAMMING.name, ZERO_ONE.space: ZERO_ONE.name}
"""What an action of a space costs unless a dataset says otherwise."""


def find_loss(name: str) -> Loss:
    """The loss registered under this name."""
    if name not in LOSSES:
        raise BadInput(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}")
    return LOSSES[name]
