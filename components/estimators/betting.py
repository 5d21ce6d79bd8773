"""Lower bounds of a mean by betting (Waudby-Smith and Ramdas 2024): exact, one-sided, blind to large values.

For independent values X_i >= -b whose expectations have the mean mu, and a fixed f in (0, 1),

E prod_i (1 + f (X_i - mu) / (b + mu)) <= 1,

because the logarithm is concave. So the mean over several f of the product at m, which falls in m, exceeds
1/eta at m = mu with a chance of at most eta; the m at which it is 1/eta is a lower bound of mu. Nothing is
asked of how large values are or how often: a rare large one that was not seen can only raise mu. Without b it
is the bound that logarithmic smoothing (Sakhi et al. 2024) comes from, of (1/lambda) log(1 + lambda X).
"""

import math

import numpy as np
from scipy.special import logsumexp

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput

# Choice: a mixture over these costs log(12) at most, and one of them is always near the best.
FRACTIONS = np.array([0.9, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.04, 0.025, 0.015, 0.01, 0.005])
STEPS = 40  # of a bisection


def betting_lower_bound(values: Vector, least: float, eta: float) -> float:
    """A lower bound of the mean of values (n,), none below `least` <= 0; it fails with a chance of `eta`."""
    if not 0 < eta < 1:
        raise BadInput(f"eta is the chance that the bound fails and must lie between 0 and 1, got {eta}")
    if least > 0 or (len(values) and float(values.min()) < least - 1e-9 * max(1.0, abs(least))):
        raise BadInput(
            f"no value may lie below `least`, which is at most 0; got {least:g} and {float(values.min()):g}"
        )
    if not len(values):
        return least
    goal = math.log(1.0 / eta)
    low, high = least, float(values.mean())
    if high <= low:
        return least
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _log_wealth(values, least, middle) >= goal else (low, middle)
    return low


def _log_wealth(values: Vector, least: float, mean: float) -> float:
    """log of the mean over f of prod_i (1 + f (X_i - m) / (m - least))."""
    gains = (values - mean) / max(mean - least, np.finfo(np.float64).tiny)
    logs = np.log1p(FRACTIONS[:, None] * np.maximum(gains, -1.0)).sum(axis=1)
    return float(logsumexp(logs)) - math.log(len(FRACTIONS))
