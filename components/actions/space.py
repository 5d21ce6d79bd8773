"""What an action is and how a policy draws it: all that the rest of the code asks of it.

A policy gives `size` logits at each context. A log and a policy carry their space; nobody else asks which
one it is. `torch` has the same quantities, differentiable in the logits.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.errors import BadInput

if TYPE_CHECKING:
    import torch
    from torch import Tensor

GREEDY = 1e4  # a sharpness that leaves to chance only what is a tie to within 1e-3


class KnownLoggers(Protocol):
    """J loggers whose policies are known on m contexts."""

    @property
    def count(self) -> int: ...

    def logits_of(self, logger: int) -> "Tensor":
        """The logits of one of them: (m, size)."""

    def at(self, contexts: "Tensor") -> "KnownLoggers": ...

    def to(self, kind: "torch.dtype") -> "KnownLoggers": ...

    def log_d2(self, logits: "Tensor") -> "Tensor":
        """log d_2(h||h_j) of each row for all loggers: (n, J)."""


class TorchSpace(Protocol):
    """The space in torch; logits are (n, size)."""

    @property
    def size(self) -> int: ...

    def actions(self, action: Actions) -> "Tensor":
        """Actions as the functions below take them."""

    def encoded(self, action: "Tensor") -> "Tensor":
        """Actions as a network reads them: (..., size) numbers from 0 to 1."""

    def log_probability(self, logits: "Tensor", action: "Tensor") -> "Tensor": ...

    def log_probability_at(self, logits: "Tensor", context: "Tensor", action: "Tensor") -> "Tensor":
        """log h(y|x) of rows that share contexts, from logits (m, size): (n,)."""

    def log_probability_of_rows(self, logits: "Tensor", context: "Tensor", action: "Tensor") -> "Tensor":
        """The same, row by row where that is what the rounding of older results goes by."""

    def log_probability_grouped(self, logits: "Tensor", action: "Tensor") -> "Tensor":
        """log h(y|x) of k actions at each context, from logits (g, size): (g, k)."""

    def probabilities(self, logits: "Tensor") -> "Tensor": ...

    def sharpened(self, p: "Tensor", sharpness: "Tensor") -> "Tensor":
        """The logits of a policy that is `sharpness` times as sure as probabilities p (n, size)."""

    def bounded(self, logits: "Tensor") -> "Tensor":
        """Logits of a policy that is never surer than 1 - 1e-6."""

    def cross_entropy(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """-E log h(y|x), y given by probabilities (n, size) or by actions: a number."""

    def sample(self, logits: "Tensor", generator: "torch.Generator") -> "Tensor": ...

    def relaxed_sample(self, logits: "Tensor", tau: float, generator: "torch.Generator") -> "Tensor":
        """Differentiable stand-ins for encoded actions: (n, size)."""

    def whole(self, relaxed: "Tensor") -> "Tensor":
        """The encoded actions that relaxed ones stand for."""

    def log_d2(self, logits: "Tensor", logger_logits: "Tensor") -> "Tensor": ...

    def known_loggers(self, tables: Sequence[Matrix]) -> KnownLoggers: ...


class ActionSpace(Protocol):
    """Actions y of one kind; logits are (n, size), in float64."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """How many logits a policy has."""

    @property
    def largest_loss(self) -> float:
        """The largest loss that learners expect; others are scaled to it."""

    @property
    def action_shape(self) -> tuple[int, ...]:
        """The shape of one action."""

    @property
    def action_type(self) -> "np.dtype[Any]": ...

    @property
    def arrow_type(self) -> Any:
        """The type of a column of actions in a file."""

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

    def logits_of(self, p: Matrix, least: float = 0.0) -> Matrix:
        """The logits of given probabilities (n, size), none nearer to 0 than `least`: (n, size)."""

    def sharpened(self, p: Matrix, sharpness: float) -> Matrix:
        """The logits of a policy that is `sharpness` times as sure as probabilities p (n, size)."""

    def draw(self, logits: Matrix, rng: np.random.Generator) -> Actions:
        """y ~ h(.|x) of each row."""

    def greedy(self, logits: Matrix) -> Actions:
        """The most likely action of each row."""

    def is_action(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows are actions: (n,)."""

    def same(self, one: Actions, other: Actions) -> NDArray[np.bool_]:
        """Which rows are the same action: (n,)."""

    def log_d2(self, logits: Matrix, logger_logits: Matrix) -> Vector:
        """log d_2(h||h_j) of each row: (n,)."""

    def log_max_ratio(self, logits: Matrix, logger_logits: Matrix) -> Vector:
        """log max_y h(y|x) / h_j(y|x) of each row: (n,)."""

    def can_list_actions(self) -> bool:
        """Whether all actions are few enough to sum over."""

    def log_probability_of_all(self, logits: Matrix) -> Matrix:
        """log h(y|x) of every row at every action there is, or a refusal: (n, actions)."""

    def averaged(self, tables: Sequence[Matrix], counts: Vector) -> tuple[tuple[Matrix, ...], Vector]:
        """Logits whose harmonic mean of divergences is d_2(h||h_avg), or bounds it, and their shares.

        The single table of h_avg = sum_j (n_j/n) h_j where that is a policy of the space, else the loggers'.
        """

    def to_arrow(self, action: Actions) -> Any:
        """Actions as a column of a file."""

    def of_arrow(self, column: Any) -> Actions:
        """Actions from such a column."""


SPACES: dict[str, Callable[[int], ActionSpace]] = {"labels": Labels, "one-of": OneOf}
"""Every action space by name, made from its size."""


def find_space(name: str, size: int) -> ActionSpace:
    if name not in SPACES:
        raise BadInput(f"unknown kind of actions {name!r}; choose one of {', '.join(SPACES)}")
    return SPACES[name](size)
