"""The arrays that everything is made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Actions = NDArray[np.integer[Any]]
"""One action per row: label vectors (n, q) of 0 and 1, or the numbers (n,) of one action each."""
