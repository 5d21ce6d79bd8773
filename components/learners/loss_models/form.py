"""What a model of the loss says of actions, from the chances p(x) that its networks give.

A form belongs to an action space: how chances follow from a network's outputs, what an action is then
expected to cost, and what a policy is.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector, row_blocks
from multilogger.components.actions.label_losses import expected_label_sum
from multilogger.components.actions.one_of import expected_by_action

if TYPE_CHECKING:
    from torch import Tensor


LEAST_CHANCE = 1e-6  # in log losses


class LossForm(Protocol):
    """Chances p are (m, size), one row per context."""

    def logged(self, p: Matrix, context: NDArray[np.int64], action: Actions) -> Vector:
        """q(x, y) of rows by the context (n,) and the action of each: (n,)."""

    def scores(self, p: Matrix, context: NDArray[np.int64], action: Actions, delta: Vector) -> Vector:
        """How wrong the model is about each row: (n,)."""

    def expected(self, p: Matrix, logits: Matrix) -> Vector:
        """E_{y ~ h} q(x, y) of every context, under the policy of given logits (m, size): (m,)."""

    def expected_at(self, p: "Tensor", logits: "Tensor") -> "Tensor":
        """The same in torch, differentiable in the logits (g, size), with p (g, size): (g,)."""


@dataclass(frozen=True)
class AdditiveForm:
    """A loss that adds up over labels: q(x, y) = sum_l [ p_l(x) + y_l (1 - 2 p_l(x)) ].

    p_l(x) is the chance that label l is right.
    """

    def logged(self, p: Matrix, context: NDArray[np.int64], action: Actions) -> Vector:
        value = np.empty(len(context))
        for here in row_blocks(len(context), p.shape[1]):
            value[here] = additive_loss(p[context[here]], action[here])
        return value

    def scores(self, p: Matrix, context: NDArray[np.int64], action: Actions, delta: Vector) -> Vector:
        """Squared errors."""
        return np.square(delta - self.logged(p, context, action))

    def expected(self, p: Matrix, logits: Matrix) -> Vector:
        return expected_label_sum(logits, p, 1.0 - 2.0 * p)

    def expected_at(self, p: "Tensor", logits: "Tensor") -> "Tensor":
        from multilogger.components.actions.torch_labels import expected_label_sum as expected

        return expected(logits, p, 1.0 - 2.0 * p)


@dataclass(frozen=True)
class ChoiceForm:
    """A loss of one choice, scaled to [0, 1]: q(x, a) = 1 - p_a(x).

    p_a(x) is the chance that action a is right, or 1 less its expected loss.
    """

    def logged(self, p: Matrix, context: NDArray[np.int64], action: Actions) -> Vector:
        return np.asarray(1.0 - p[context, action])

    def scores(self, p: Matrix, context: NDArray[np.int64], action: Actions, delta: Vector) -> Vector:
        """Log losses, -(1 - delta) log p_a - delta log(1 - p_a)."""
        return log_loss(p[context, action], 1.0 - delta, delta)

    def expected(self, p: Matrix, logits: Matrix) -> Vector:
        return 1.0 - expected_by_action(logits, p)

    def expected_at(self, p: "Tensor", logits: "Tensor") -> "Tensor":
        import torch

        return 1.0 - (torch.softmax(logits, dim=1) * p).sum(dim=1)


FORMS: dict[str, LossForm] = {"labels": AdditiveForm(), "one-of": ChoiceForm()}
"""By the name of the action space."""


def additive_loss(p: Matrix, y: Actions) -> Vector:
    """q(x, y) of each row, from p (n, q) and label vectors (n, q): (n,)."""
    return np.asarray(np.where(y == 1, 1.0 - p, p).sum(axis=1), dtype=np.float64)


def log_loss(p: Vector, right: Vector, wrong: Vector) -> Vector:
    """-right log p - wrong log(1 - p), with no chance taken to be nearer to 0 or 1 than 1e-6: (n,)."""
    kept = np.clip(p, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    return np.asarray(-(right * np.log(kept) + wrong * np.log1p(-kept)))


@dataclass(frozen=True)
class FoldedModel:
    """A model's p (m, size), out of fold."""

    form: LossForm
    p: Matrix

    def logged(self, context: NDArray[np.int64], action: Actions) -> Vector:
        """q(x_i, y_i) of rows: (n,)."""
        return self.form.logged(self.p, context, action)

    def expected(self, logits: Matrix) -> Vector:
        """E_{y ~ h} q(x, y) of every context, under the policy of given logits (m, size): (m,)."""
        return self.form.expected(self.p, logits)
