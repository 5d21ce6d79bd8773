"""A loss model as it judges rows: always by the member that has not seen their context."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.learners.additive_model import additive_loss, expected_additive_loss
from multilogger.components.learners.free_form_model import FreeFormModel
from multilogger.components.policies import Actions, Matrix, Vector, draw

DRAWS = 4  # actions a context, for the expectation of a free-form model on whole splits


@dataclass(frozen=True)
class FoldedModel:
    """The additive part p (m, q) out of fold, and a free-form correction if there is one."""

    p: Matrix
    free: FreeFormModel | None
    seed: int

    def logged(self, context: NDArray[np.int64], action: Actions) -> Vector:
        """q(x_i, y_i) of rows: (n,)."""
        values = additive_loss(self.p[context], action)
        if self.free is not None:
            values = values + self.free.corrections(context, action)
        return values

    def expected(self, logits: Matrix) -> Vector:
        """E_{y ~ h} q(x, y) of every context, under the policy of given logits (m, q): (m,)."""
        expected = expected_additive_loss(self.p, logits)
        if self.free is not None:
            # The same numbers each time, so that policies differ by more than their draws.
            rng = np.random.default_rng([self.seed, 1])
            expected = expected + self.free.expected_corrections([draw(logits, rng) for _ in range(DRAWS)])
        return expected
