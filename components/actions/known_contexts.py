"""log h(y|x) of many actions at the same contexts, to the last bit that of the space.

A label has two chances at a context, whatever is drawn there: both are kept, and rows pick one of them.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import log_expit

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace

LogChances = Callable[[slice, Actions], Vector]
"""log h(y|x) of as many actions as there are contexts in a slice: (n,)."""


def log_chances(space: ActionSpace, logits: Matrix, uses: int) -> LogChances:
    """Of a policy with logits (m, size); it pays to keep anything where contexts are asked three times."""
    if space.name != "labels" or uses <= 2:
        return lambda here, action: space.log_probability(logits[here], action)
    one, zero = log_expit(logits), log_expit(-logits)
    return lambda here, action: np.asarray(
        np.where(action > 0, one[here], zero[here]).sum(axis=1), dtype=np.float64
    )
