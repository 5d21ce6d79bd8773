"""The time of a row as features, for loggers that change over time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix

KNOTS = 8


@dataclass(frozen=True)
class TimeHats:
    """How near each row is to each of some times, evenly many rows apart: (n, knots), a row when asked for.

    Hat functions of the rank of the time, so that a logger may change at any pace, but not at once. `place`
    (n,) is the rank, from 0 to knots - 1.
    """

    place: NDArray[np.floating[Any]]
    knots: int = KNOTS

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.place), self.knots

    def __getitem__(self, rows: Any) -> Matrix:
        hats = np.maximum(0.0, 1.0 - np.abs(self.place[rows][:, None] - np.arange(self.knots)))
        return np.asarray(hats, dtype=np.float64)


def time_hats(time: NDArray[Any], knots: int = KNOTS) -> TimeHats:
    """The features of rows by their own times (n,), ranked as any other rows are.

    Rows of one time share their rank: the order of rows may tell the action.
    """
    return later_hats(time, np.sort(time), knots)


def time_columns(time: NDArray[Any], knots: int = KNOTS) -> Matrix:
    """The same as a table: (n, knots)."""
    return time_hats(time, knots)[:]


def later_hats(time: NDArray[Any], known: NDArray[Any], knots: int = KNOTS) -> TimeHats:
    """The features of other rows by their times (n,), ranked among the sorted times `known`.

    A time that is known more than once has the middle of its ranks.
    Choice: what lies after all of them is taken as the last, so that a logger stays as it was when it was
    seen last.
    """
    before, through = np.searchsorted(known, time), np.searchsorted(known, time, side="right")
    rank = np.clip((before + through - 1) / 2.0, 0, max(1, len(known) - 1))
    return TimeHats(rank / max(1, len(known) - 1) * (knots - 1), knots)
