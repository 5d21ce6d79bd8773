"""The cut of weights that POEM derives from the log (Swaminathan and Joachims, ICML 2015, section 6)."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from multilogger.components.policies import Vector

STEP = 0.01
"""Logarithms are counted in steps of one hundredth, so that a log on disk needs one pass and no memory."""


def propensity_ratio(log_propensities: Iterable[Vector]) -> float:
    """The 90 % quantile of logged propensities over their 10 % quantile, to 1 %; never below 1."""
    counts: Counter[int] = Counter()
    for values in log_propensities:
        steps, rows = np.unique(np.rint(values / STEP).astype(np.int64), return_counts=True)
        counts.update(dict(zip(steps.tolist(), rows.tolist(), strict=True)))
    steps = np.array(sorted(counts))
    shares = np.cumsum([counts[step] for step in steps.tolist()]) / counts.total()
    low, high = (float(steps[np.searchsorted(shares, share)]) for share in (0.1, 0.9))
    return float(np.exp(STEP * (high - low)))
