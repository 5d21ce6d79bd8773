"""Every log of a few rows, for expectations that are finite sums."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def every_outcome(counts: tuple[int, ...], outcomes: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """The outcome of each row, logger by logger, and in how many orders of a logger's rows it can come.

    The order changes no estimate: one of them stands for all.
    """
    own = [itertools.combinations_with_replacement(range(outcomes), count) for count in counts]
    for rows in itertools.product(*own):
        yield np.array([one for part in rows for one in part]), math.prod(_orders(part) for part in rows)


def _orders(rows: tuple[int, ...]) -> int:
    return math.factorial(len(rows)) // math.prod(map(math.factorial, Counter(rows).values()))
