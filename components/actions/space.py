"""What an action is and how a policy draws it: all that the rest of the code asks of it.

A policy gives `size` logits at each context. A log and a policy carry their space; nobody else asks which
one it is. `torch` has the same quantities, differentiable in the logits.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Actions, Labels, Matrix, Vector

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class KnownLoggers(Protocol):
    """Loggers whose policies are known on m contexts: logits (m, J, size)."""

    @property
    def logits(self) -> "Tensor": ...

    def at(self, contexts: "Tensor") -> "KnownLoggers": ...

    def to(self, kind: "torch.dtype") -> "KnownLoggers": ...

    def log_d2(self, logits: "Tensor") -> "Tensor":
        """log d_2(h||h_j) of each row for all loggers at once: (n, J)."""


class TorchSpace(Protocol):
    """The space in torch; logits are (n, size)."""

    def log_probability(self, logits: "Tensor", action: "Tensor") -> "Tensor": ...

    def log_probability_at(self, logits: "Tensor", context: "Tensor", action: "Tensor") -> "Tensor": ...

    def probabilities(self, logits: "Tensor") -> "Tensor": ...

    def cross_entropy(self, logits: "Tensor", targets: "Tensor") -> "Tensor": ...

    def sample(self, logits: "Tensor", generator: "torch.Generator") -> "Tensor": ...

    def relaxed_sample(self, logits: "Tensor", tau: float, generator: "torch.Generator") -> "Tensor": ...

    def whole(self, relaxed: "Tensor") -> "Tensor": ...

    def log_d2(self, logits: "Tensor", logger_logits: "Tensor") -> "Tensor": ...

    def known_loggers(self, tables: Sequence[Matrix]) -> KnownLoggers: ...


class ActionSpace(Protocol):
    """Actions y of one kind; logits are (n, size), in float64."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def torch(self) -> TorchSpace: ...

    def log_probability(self, logits: Matrix, action: Actions) -> Vector:
        """log h(y|x) of each row: (n,)."""

    def log_normaliser(self, logits: Matrix) -> Vector:
        """What `log_probability_at` takes once per context: (m,)."""

    def log_probability_at(
        self, logits: Matrix, context: NDArray[np.int64], action: Actions, normaliser: Vector | None = None
    ) -> Vector:
        """log h(y|x) of rows that share contexts, from logits (m, size): (n,)."""

    def log_probability_slope(self, probabilities: Matrix, action: Actions) -> Matrix:
        """The slope of log h(y|x) in the logits: (n, size)."""

    def probabilities(self, logits: Matrix) -> Matrix:
        """Of each label, or of each action there is: (n, size)."""

    def draw(self, logits: Matrix, rng: np.random.Generator) -> Actions:
        """y ~ h(.|x) of each row."""

    def greedy(self, logits: Matrix) -> Actions:
        """The most likely action of each row."""

    def is_action(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows are actions: (n,)."""

    def log_d2(self, logits: Matrix, logger_logits: Matrix) -> Vector:
        """log d_2(h||h_j) of each row: (n,)."""

    def log_max_ratio(self, logits: Matrix, logger_logits: Matrix) -> Vector:
        """log max_y h(y|x) / h_j(y|x) of each row: (n,)."""

    def can_list_actions(self) -> bool:
        """Whether all actions are few enough to sum over."""

    def log_probability_of_all(self, logits: Matrix) -> Matrix:
        """log h(y|x) of every row at every action there is, or a refusal: (n, actions)."""


SPACES: dict[str, Callable[[int], ActionSpace]] = {"labels": Labels}
"""Every action space by name, made from its size."""
