"""Losses delta(x, y) of an action y against the true labels, and their expectation under a policy.

Which loss applies is a property of the dataset. All of the paper's use the Hamming loss.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from multilogger.components.actions.labels import (
    Actions,
    Matrix,
    Vector,
    expected_hamming,
    expected_neighbours,
    hamming,
)
from multilogger.components.datasets.labelled_data import Labels
from multilogger.components.errors import BadInput


class Loss(Protocol):
    """A loss of label vectors."""

    @property
    def name(self) -> str: ...

    def value(self, y: Actions, truth: Labels) -> Vector:
        """delta(x, y) of each row, actions and true labels (n, q): (n,)."""
        ...

    def expected(self, logits: Matrix, truth: Labels) -> Vector:
        """E_{y ~ h(.|x)} delta(x, y) of each row in closed form, logits (n, q): (n,)."""
        ...

    def largest(self, labels: int) -> float:
        """L, the largest loss that an action of q labels can have."""
        ...


@dataclass(frozen=True)
class Hamming:
    """The number of wrong labels (section 5.1.1)."""

    name: str = "hamming"

    def value(self, y: Actions, truth: Labels) -> Vector:
        return hamming(y, truth)

    def expected(self, logits: Matrix, truth: Labels) -> Vector:
        return expected_hamming(logits, truth)

    def largest(self, labels: int) -> float:
        return float(labels)


@dataclass(frozen=True)
class Crowding:
    """Wrong labels, and a penalty for each pair of neighbouring labels that are taken together.

    delta = ( sum_l [y_l != t_l] + penalty sum_l y_l y_{l+1} ) / (1 + penalty),  l + 1 counted in a ring.

    Not additive: what a label costs depends on its neighbours. Scaled to [0, q], as the Hamming loss is.
    """

    penalty: float = 1.5
    name: str = "crowding"

    def value(self, y: Actions, truth: Labels) -> Vector:
        together = (y * np.roll(y, -1, axis=1)).sum(axis=1)
        return self._joined(hamming(y, truth), together.astype(np.float64))

    def expected(self, logits: Matrix, truth: Labels) -> Vector:
        return self._joined(expected_hamming(logits, truth), expected_neighbours(logits))

    def largest(self, labels: int) -> float:
        return float(labels)

    def _joined(self, wrong: Vector, together: Vector) -> Vector:
        return np.asarray((wrong + self.penalty * together) / (1.0 + self.penalty), dtype=np.float64)


HAMMING, CROWDING = Hamming(), Crowding()
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (HAMMING, CROWDING)}


def find_loss(name: str) -> Loss:
    """The loss registered under this name."""
    if name not in LOSSES:
        raise BadInput(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}")
    return LOSSES[name]
