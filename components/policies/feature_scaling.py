"""Mean and spread of features, and features scaled by them: one dense copy of the contexts, on disk if large.

Long logs are worked on in blocks of rows. The bits are those of numpy on the whole array: it too adds the
rows of an array of two columns or more one after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.log.memory import densify
from multilogger.components.policies.large_arrays import empty_floats

BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Moments:
    """The mean and the standard deviation of every feature: (d,) each."""

    mean: Vector
    spread: Vector


def moments(x: Features) -> Moments:
    """Both in float64, of contexts (n, d)."""
    rows, width = x.shape
    if rows <= BLOCK_ROWS or width < 2:  # of one column numpy adds pairs
        dense = densify(x)
        return Moments(dense.mean(axis=0, dtype=np.float64), dense.std(axis=0, dtype=np.float64))
    sums = np.zeros((1, width))
    for block in _blocks(x):
        sums = _added(sums, block)
    mean, squares = sums[0] / rows, np.zeros((1, width))
    for block in _blocks(x):
        apart = block - mean
        squares = _added(squares, np.square(apart, out=apart))
    return Moments(mean, np.sqrt(squares[0] / rows))


def scaled(x: Features, mean: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """(x - mean) / scale, dense: (n, d)."""
    made = empty_floats((x.shape[0], x.shape[1]))
    for number, block in enumerate(_blocks(x)):
        place = made[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS]
        try:
            with np.errstate(over="raise"):
                np.subtract(block, mean, out=place)
                np.divide(place, scale, out=place)
        except FloatingPointError as error:
            raise _too_far(block, mean, scale) from error
    return made


def _too_far(block: NDArray[np.float32], mean: NDArray[np.float32], scale: NDArray[np.float32]) -> BadInput:
    """What is said of the first feature that has no scaled value of 32 bits."""
    with np.errstate(over="ignore"):
        lost = np.argwhere(np.isinf(((block - mean) / scale).astype(np.float32)))
    row, column = lost[0] if len(lost) else (0, 0)
    return BadInput(
        f"feature {column} is {block[row, column]:g}, too far from its usual {mean[column]:g} (spread "
        f"{scale[column]:g}) for a number of 32 bits; mend the value, or drop the row"
    )


def _blocks(x: Features) -> Iterator[NDArray[np.float32]]:
    for start in range(0, x.shape[0], BLOCK_ROWS):
        yield densify(x[start : start + BLOCK_ROWS])


def _added(sums: Matrix, block: NDArray[np.floating]) -> Matrix:
    """Sums (1, d) with the rows of a block after them."""
    return np.add.reduce(np.concatenate([sums, block], dtype=np.float64), axis=0, keepdims=True)
