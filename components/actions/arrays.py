"""The arrays that everything is made of, and the blocks that large ones are worked on in."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Actions = NDArray[np.integer[Any]]
"""One action per row: label vectors (n, q) of 0 and 1, or the numbers (n,) of one action each."""

CACHED_NUMBERS = 2**17  # what a cache has room for


def row_blocks(rows: int, width: int, numbers: int = CACHED_NUMBERS) -> Iterator[slice]:
    """The rows of a table in blocks that have about `numbers` numbers each."""
    size = max(1, numbers // max(1, width))
    for start in range(0, rows, size):
        yield slice(start, start + size)
