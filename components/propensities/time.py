"""The time of a row as features, for loggers that change over time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix

KNOTS = 8


def time_columns(time: NDArray[Any], knots: int = KNOTS) -> Matrix:
    """How near each row is to each of some times, evenly many rows apart: (n, knots).

    Hat functions of the rank of the time, so that a logger may change at any pace, but not at once.
    """
    _, rank = np.unique(time, return_inverse=True)
    order = np.argsort(np.argsort(rank, kind="stable"), kind="stable")
    place = order / max(1, len(order) - 1) * (knots - 1)
    hats = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(knots)))
    return np.asarray(hats, dtype=np.float64)
