"""Stochastic policies that choose one of K actions.

h(y|x) = exp(z_y) / sum_a exp(z_a), the softmax of K logits. That a policy is a softmax is known here, in
torch in `torch_one_of.py`, and in `loggers/crf.py`, which fits one. Others ask `OneOf`.
Actions are numbers 0..K-1, (n,); what a person calls them stands beside the log and the policy.
Logits are (n, K), in float64. Whatever needs a table of all actions is taken in blocks of rows, so that
memory grows with K and the block, never with the rows times K.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from multilogger.components.actions.arrays import Actions, Matrix, Vector, row_blocks
from multilogger.components.errors import BadInput

if TYPE_CHECKING:
    from multilogger.components.actions.torch_one_of import TorchOneOf

BLOCK_NUMBERS = 4_000_000  # of a table of logits that is worked on at a time: 32 MB
LEAST_CHANCE = 1e-7
# Choice: no action of a policy that was sharpened is surer than 1 - 1e-6, so that even a greedy one has
# finite weights, divergences and certificates.
LARGEST_ODDS = 14.0


def probabilities(logits: Matrix) -> Matrix:
    """h(a|x) of every action: (n, K)."""
    return np.asarray(softmax(logits, axis=1), dtype=np.float64)


def log_normaliser(logits: Matrix) -> Vector:
    """log sum_a exp z_a of each context: (m,)."""
    found = np.empty(len(logits))
    for rows in blocks(logits):
        found[rows] = logsumexp(logits[rows], axis=1)
    return found


def log_probability(logits: Matrix, y: Actions) -> Vector:
    """log h(y|x) of each row: (n,)."""
    if len(logits) != len(y):
        raise BadInput(
            f"policy and actions must have the same rows, got {len(logits)} and {len(y)}; "
            "were they made from the same dataset?"
        )
    return log_probability_at(logits, np.arange(len(y)), y)


def log_probability_at(
    logits: Matrix, context: NDArray[np.int64], y: Actions, normaliser: Vector | None = None
) -> Vector:
    """log h(y|x) = z_y - log sum_a exp z_a of rows that share contexts, from logits (m, K): (n,)."""
    normaliser = log_normaliser(logits) if normaliser is None else normaliser
    log_h = logits[context, y] - normaliser[context]
    # Rounding may leave 1e-16 where the policy is sure; a probability is at most 1.
    return np.asarray(np.minimum(log_h, 0.0), dtype=np.float64)


def log_probability_slope(p: Matrix, y: Actions) -> Matrix:
    """The slope of log h(y|x) in the logits, 1[a = y] - p_a, with p (n, K) the probabilities of h: (n, K)."""
    slope = -p
    slope[np.arange(len(y)), y] += 1.0
    return slope


def logits_of(p: Matrix, least: float = 0.0) -> Matrix:
    """The logits of given probabilities (n, K), none taken to be nearer to 0 than `least`: (n, K)."""
    return np.asarray(np.log(np.maximum(p, least)), dtype=np.float64)


def sharpened(p: Matrix, sharpness: float) -> Matrix:
    """The logits of h ~ p^sharpness for non-negative p (n, K), none surer than 1 - 1e-6: (n, K)."""
    return bounded(sharpness * logits_of(p, LEAST_CHANCE))


def bounded(logits: Matrix) -> Matrix:
    """Logits of a policy no action of which is surer than 1 - 1e-6, the largest of each row being 0."""
    return np.asarray(np.maximum(logits - logits.max(axis=1, keepdims=True), -largest_gap(logits.shape[1])))


def draw(logits: Matrix, rng: np.random.Generator) -> Actions:
    """y ~ h(.|x) of each row, from one uniform number per row: (n,)."""
    uniforms = rng.random(len(logits))
    drawn = np.empty(len(logits), dtype=np.int64)
    for rows in blocks(logits):
        cumulated = np.cumsum(probabilities(logits[rows]), axis=1)
        # Rounding may leave the last sum a little below 1.
        reached = cumulated > (uniforms[rows] * cumulated[:, -1])[:, None]
        drawn[rows] = reached.argmax(axis=1)
    return drawn


def same_actions(one: Actions, other: Actions) -> NDArray[np.bool_]:
    """Which rows of two lists of actions (n,) are the same: (n,)."""
    return np.asarray(one == other)


def greedy(logits: Matrix) -> Actions:
    """The most likely action of each row, the first of several: (n,)."""
    return np.asarray(logits.argmax(axis=1))


def expected_by_action(logits: Matrix, values: Matrix) -> Vector:
    """E_{y ~ h(.|x)} v(x, y) = sum_a h(a|x) v_a of each row, from values (n, K): (n,)."""
    means = [np.einsum("nk,nk->n", probabilities(logits[rows]), values[rows]) for rows in blocks(logits)]
    return np.concatenate(means) if means else np.zeros(0)


def log_average(tables: Sequence[Matrix], counts: Vector) -> Matrix:
    """log h_avg(a|x) = log sum_j (n_j/n) h_j(a|x) of every action, from the logits (m, K) of each: (m, K)."""
    mixed = np.full(tables[0].shape, -np.inf)
    for table, share in zip(tables, counts / np.sum(counts), strict=True):
        for rows in blocks(table):
            own = log_probability_of_all(table[rows]) + np.log(share)
            np.logaddexp(mixed[rows], own, out=mixed[rows])
    return mixed


def log_d2(logits: Matrix, logger_logits: Matrix) -> Vector:
    """log d_2(h||h_j) = log sum_a h(a|x)^2 / h_j(a|x) of each row (section 3): (n,)."""
    return _by_blocks(logits, logger_logits, _block_log_d2)


def log_max_ratio(logits: Matrix, logger_logits: Matrix) -> Vector:
    """log d_inf(h||h_j) = log max_a h(a|x) / h_j(a|x) of each row (Theorem 3.2): (n,)."""
    return _by_blocks(logits, logger_logits, _block_log_max_ratio)


def blocks(logits: Matrix) -> list[slice]:
    """The rows of a table (n, K) in lots of about the same size in memory, whatever K is."""
    return list(row_blocks(len(logits), logits.shape[1], BLOCK_NUMBERS))


def _block_log_d2(logits: Matrix, logger_logits: Matrix) -> Vector:
    terms = 2.0 * log_softmax(logits, axis=1) - log_softmax(logger_logits, axis=1)
    # Rounding may leave -1e-16 where the policies agree; d_2 >= 1 always.
    return np.asarray(logsumexp(terms, axis=1).clip(min=0.0), dtype=np.float64)


def _block_log_max_ratio(logits: Matrix, logger_logits: Matrix) -> Vector:
    ratio = log_softmax(logits, axis=1) - log_softmax(logger_logits, axis=1)
    return np.asarray(ratio.max(axis=1), dtype=np.float64)


def _by_blocks(logits: Matrix, logger_logits: Matrix, figure: Any) -> Vector:
    if logits.shape != logger_logits.shape:
        raise BadInput(
            f"policy and logger must have the same rows and actions, got {logits.shape} and "
            f"{logger_logits.shape}; take the logits of both on the same contexts"
        )
    parts = [figure(logits[rows], logger_logits[rows]) for rows in blocks(logits)]
    return np.concatenate(parts) if parts else np.zeros(0)


def largest_gap(actions: int) -> float:
    """Between the logits of the likeliest action and of any other: the odds of all others are e^-14."""
    return LARGEST_ODDS + math.log(max(1, actions - 1))


def log_probability_of_all(logits: Matrix) -> Matrix:
    """log h(a|x) of every row at every action: (n, K)."""
    return np.asarray(log_softmax(logits, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class OneOf:
    """The space of choices of one of `size` actions, numbered from 0."""

    size: int
    name: str = "one-of"
    largest_loss = 1.0
    action_shape: tuple[int, ...] = ()
    action_type = np.dtype(np.int64)

    log_probability = staticmethod(log_probability)
    log_normaliser = staticmethod(log_normaliser)
    log_probability_at = staticmethod(log_probability_at)
    log_probability_slope = staticmethod(log_probability_slope)
    log_probability_of_all = staticmethod(log_probability_of_all)
    probabilities = staticmethod(probabilities)
    logits_of = staticmethod(logits_of)
    sharpened = staticmethod(sharpened)
    draw = staticmethod(draw)
    greedy = staticmethod(greedy)
    same = staticmethod(same_actions)
    log_d2 = staticmethod(log_d2)
    log_max_ratio = staticmethod(log_max_ratio)

    def is_action(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows (n,) are numbers of actions: (n,)."""
        return np.asarray((values >= 0) & (values < self.size) & (values == np.floor(values)))

    def averaged(self, tables: Sequence[Matrix], counts: Vector) -> tuple[tuple[Matrix, ...], Vector]:
        """The table of h_avg, with all rows its own."""
        return (log_average(tables, counts),), np.array([np.sum(counts)])

    def can_list_actions(self) -> bool:
        return True

    def to_arrow(self, action: Actions) -> Any:
        """A column of whole numbers."""
        import pyarrow as pa

        return pa.array(action.astype(np.int32))

    def of_arrow(self, column: Any) -> Actions:
        """What `to_arrow` made."""
        return np.asarray(column).astype(np.int64)

    @property
    def arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.int32()

    @property
    def torch(self) -> "TorchOneOf":
        from multilogger.components.actions.torch_one_of import TorchOneOf

        return TorchOneOf(self.size)
