"""A loss model as it judges rows: always by the member that has not seen their context."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.learners.additive_model import additive_loss, expected_additive_loss
from multilogger.components.policies import Actions, Matrix, Vector


@dataclass(frozen=True)
class FoldedModel:
    """The additive model's p (m, q), out of fold."""

    p: Matrix

    def logged(self, context: NDArray[np.int64], action: Actions) -> Vector:
        """q(x_i, y_i) of rows: (n,)."""
        return additive_loss(self.p[context], action)

    def expected(self, logits: Matrix) -> Vector:
        """E_{y ~ h} q(x, y) of every context, under the policy of given logits (m, q): (m,)."""
        return expected_additive_loss(self.p, logits)
