"""How far a policy stands from its loggers, in closed form: what follows from its logits on all contexts."""

import math
from functools import cached_property

import numpy as np
import torch
from scipy.special import logsumexp

from multilogger.components.actions.labels import Matrix, Vector
from multilogger.components.actions.torch_labels import KnownLoggers, log_d2_each
from multilogger.components.estimators.constraint import constraint_coefficients
from multilogger.components.estimators.weights import log_mixture


class ContextLook:
    """One policy, by its logits on all contexts (m, q), and its divergences, each computed once.

    `counts` (J,) are the training rows of each logger; `average` says whether the constraint is on h_avg.
    """

    def __init__(self, logits: Matrix, loggers: KnownLoggers | None, counts: Vector, average: bool) -> None:
        self.logits = logits
        self._loggers, self._counts, self._average = loggers, counts, average

    @cached_property
    def log_moments(self) -> Matrix:
        """log d_2(h||h_j; x) of each context and logger: (m, J); NaN if the loggers are not known."""
        if self._loggers is None:
            return np.full((len(self.logits), len(self._counts)), math.nan)
        with torch.inference_mode():
            # Rounding may leave a sum at -1e-16 where the policies agree; d_2 >= 1 always.
            return log_d2_each(torch.from_numpy(self.logits), self._loggers).clamp_min(0.0).numpy()

    @cached_property
    def log_d2(self) -> Vector:
        """log d_2(h||h_j; P(x)) over all contexts: (J,)."""
        return np.asarray(logsumexp(self.log_moments, axis=0) - math.log(len(self.logits)))

    def log_constraint(self, shares: Vector) -> float:
        """log(1 + sum_j c_j D_f(h||h_j)), or for balanced methods of 1 + an upper bound of D_f(h||h_avg)."""
        if self._average:
            return self._log_average_bound
        # A share of 0 makes nothing of any divergence, even of an infinite one.
        coefficients = constraint_coefficients(self._counts, shares / self._counts)
        return float(logsumexp(self.log_d2, b=coefficients))

    @cached_property
    def _log_average_bound(self) -> float:
        """The harmonic bound of `components/divergences.py`."""
        bound = -log_mixture(-self.log_moments, self._counts)
        return float(logsumexp(bound)) - math.log(len(bound))
