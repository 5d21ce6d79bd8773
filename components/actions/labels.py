"""Stochastic policies that decide each label on its own.

h(y|x) = prod_l p_l(x)^y_l (1 - p_l(x))^(1 - y_l), with p_l the sigmoid of logit l.
That a policy is a product of Bernoulli labels is known here, in torch in `torch_labels.py`, and in
`loggers/crf.py`, which fits one; another action space has its own three files. Others ask `Labels`.
Losses of label vectors and the models of them (`losses.py`, `additive` and `dr` with what they are made of)
are another matter: they say what an action costs, not how it is drawn.
Logits are (n, q), in float64; probabilities of whole actions stay in the log domain, because at
22 labels a propensity is about 1e-7 and ratios of two of them span 1e7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from multilogger.components.actions.arrays import Actions, Matrix, Vector, row_blocks
from multilogger.components.errors import BadInput

if TYPE_CHECKING:
    from multilogger.components.actions.torch_labels import TorchLabels

MAX_ENUMERATED_LABELS = 12  # 4096 actions a context; beyond it a sum over all actions costs too much

# Choice: no label of a policy that was sharpened is ever surer than 1 - 1e-6, so that even a greedy one has
# finite weights, divergences and certificates; it costs a millionth of a label.
LARGEST_LOGIT = 14.0

LEAST_CHANCE = 1e-7


def marginals(logits: Matrix) -> Matrix:
    """p_l(x), the probability of each label: (n, q)."""
    return np.asarray(expit(logits), dtype=np.float64)


def logits_of(p: Matrix, least: float = 0.0) -> Matrix:
    """The logits of given marginals (n, q), none taken to be nearer to 0 or 1 than `least`: (n, q)."""
    return np.asarray(logit(np.clip(p, least, 1.0 - least)), dtype=np.float64)


def sharpened(p: Matrix, sharpness: float) -> Matrix:
    """The logits of marginals p (n, q), times a sharpness, within +-14: (n, q)."""
    logits = sharpness * logits_of(p, LEAST_CHANCE)
    return np.asarray(np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT), dtype=np.float64)


def log_probability(logits: Matrix, y: Actions) -> Vector:
    """log h(y|x) of each row: (n,)."""
    check_width(logits, y)
    signs = 2.0 * y - 1.0
    return np.asarray(log_expit(signs * logits).sum(axis=1), dtype=np.float64)


def log_normaliser(logits: Matrix) -> Vector:
    """-log h(0|x) = sum_l log(1 + exp z_l) of each context: (m,)."""
    return np.asarray(np.logaddexp(0.0, logits).sum(axis=1), dtype=np.float64)


def log_probability_at(
    logits: Matrix, context: NDArray[np.int64], y: Actions, normaliser: Vector | None = None
) -> Vector:
    """log h(y|x) of rows that share contexts, from logits (m, q) and the context (n,) of each row: (n,).

    sum_l y_l z_l - sum_l log(1 + exp z_l); the second sum, the costly one, is taken once per context, and not
    even that if `normaliser` (m,) is given.
    """
    _check_labels(logits, y)
    normaliser = log_normaliser(logits) if normaliser is None else normaliser
    log_h = -normaliser[context]
    for here in row_blocks(len(context), logits.shape[1]):
        log_h[here] += np.einsum("nq,nq->n", logits[context[here]], y[here].astype(np.float64))
    # Rounding may leave 1e-16 where the policy is sure; a probability is at most 1.
    return np.asarray(np.minimum(log_h, 0.0), dtype=np.float64)


def log_probability_slope(p: Matrix, y: Actions) -> Matrix:
    """The slope of log h(y|x) in the logits, y - p, with p (n, q) the marginals of h: (n, q)."""
    check_width(p, y)
    return np.asarray(y - p, dtype=np.float64)


def pair_scores(p: Matrix, y: Actions, pairs: NDArray[np.intp]) -> Matrix:
    """(y_l - p_l)(y_m - p_m) of given pairs of labels (P, 2), from the marginals p of who drew y: (n, P).

    Labels are drawn independently, so under h these are uncorrelated with any sum over labels.
    """
    centred = log_probability_slope(p, y)
    return np.asarray(centred[:, pairs[:, 0]] * centred[:, pairs[:, 1]])


def log_probability_table(logits: Matrix, actions: Actions) -> Matrix:
    """log h(y|x) of every row of logits (n, q) at every action of a list (m, q): (n, m)."""
    _check_labels(logits, actions)
    return np.asarray(
        log_expit(logits) @ actions.T + log_expit(-logits) @ (1.0 - actions.T), dtype=np.float64
    )


def log_probability_of_all(logits: Matrix) -> Matrix:
    """log h(y|x) of every row of logits (n, q) at every action there is: (n, 2^q)."""
    return log_probability_table(logits, all_actions(logits.shape[1]))


def all_actions(q: int) -> Actions:
    """Every label vector, counting in binary with label 0 as the lowest digit: (2^q, q)."""
    if not 1 <= q <= MAX_ENUMERATED_LABELS:
        raise BadInput(
            f"all actions can be listed for 1 to {MAX_ENUMERATED_LABELS} labels, got {q}; "
            "sample actions instead"
        )
    return (np.arange(2**q)[:, None] >> np.arange(q) & 1).astype(np.uint8)


def sample(logits: Matrix, uniforms: Matrix) -> Actions:
    """y ~ h(.|x) from one uniform number in [0, 1) a label; the caller owns the generator."""
    return (uniforms < marginals(logits)).astype(np.uint8)


def draw(logits: Matrix, rng: np.random.Generator) -> Actions:
    """y ~ h(.|x) of each row: (n, q)."""
    return sample(logits, rng.random(logits.shape))


def is_action(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which rows (n, q) are label vectors, of 0 and 1 only: (n,)."""
    return np.asarray(((values == 0) | (values == 1)).all(axis=1))


def same_actions(one: Actions, other: Actions) -> NDArray[np.bool_]:
    """Which rows of two lists of actions (n, q) are the same: (n,)."""
    return np.asarray((one == other).all(axis=1))


def greedy(logits: Matrix) -> Actions:
    """The most likely action of each row: every label with p_l > 1/2."""
    return (logits > 0).astype(np.uint8)


def log_d2(logits: Matrix, logger_logits: Matrix) -> Vector:
    """log d_2(h||h_j) of each row in closed form (section 3), with p and q the marginals of h and h_j: (n,).

    d_2(h||h_j; x) = sum_y h(y|x)^2 / h_j(y|x) = prod_l [ p_l^2 / q_l + (1 - p_l)^2 / (1 - q_l) ]
    """
    _check_policies(logits, logger_logits)
    one = 2.0 * log_expit(logits) - log_expit(logger_logits)
    zero = 2.0 * log_expit(-logits) - log_expit(-logger_logits)
    # Rounding may leave the sum at -1e-16 where the policies agree; d_2 >= 1 always.
    return np.asarray(np.logaddexp(one, zero).sum(axis=1).clip(min=0.0), dtype=np.float64)


def log_max_ratio(logits: Matrix, logger_logits: Matrix) -> Vector:
    """log d_inf(h||h_j) = log max_y h(y|x) / h_j(y|x) of each row (Theorem 3.2): (n,).

    The maximum over actions is taken label by label: prod_l max(p_l / q_l, (1 - p_l) / (1 - q_l)).
    """
    _check_policies(logits, logger_logits)
    one = log_expit(logits) - log_expit(logger_logits)
    zero = log_expit(-logits) - log_expit(-logger_logits)
    return np.asarray(np.maximum(one, zero).sum(axis=1), dtype=np.float64)


def check_width(left: NDArray[np.generic], right: NDArray[np.generic]) -> None:
    if left.shape != right.shape:
        raise BadInput(
            f"policy and labels must have the same rows and labels, got {left.shape} and {right.shape}; "
            "were they made from the same dataset?"
        )


def _check_labels(logits: Matrix, actions: Actions) -> None:
    if logits.shape[1] != actions.shape[1]:
        raise BadInput(
            f"policy and actions must have the same labels, got {logits.shape[1]} and {actions.shape[1]}; "
            "were they made from the same dataset?"
        )


def _check_policies(logits: Matrix, logger_logits: Matrix) -> None:
    if logits.shape != logger_logits.shape:
        raise BadInput(
            f"policy and logger must have the same rows and labels, got {logits.shape} and "
            f"{logger_logits.shape}; take the logits of both on the same contexts"
        )


@dataclass(frozen=True)
class Labels:
    """The space of vectors of `size` labels, each 0 or 1."""

    size: int
    name: str = "labels"
    action_type = np.dtype(np.uint8)

    log_probability = staticmethod(log_probability)
    log_normaliser = staticmethod(log_normaliser)
    log_probability_at = staticmethod(log_probability_at)
    log_probability_slope = staticmethod(log_probability_slope)
    log_probability_of_all = staticmethod(log_probability_of_all)
    probabilities = staticmethod(marginals)
    logits_of = staticmethod(logits_of)
    sharpened = staticmethod(sharpened)
    draw = staticmethod(draw)
    greedy = staticmethod(greedy)
    is_action = staticmethod(is_action)
    same = staticmethod(same_actions)
    log_d2 = staticmethod(log_d2)
    log_max_ratio = staticmethod(log_max_ratio)

    @property
    def action_shape(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def largest_loss(self) -> float:
        """One per label."""
        return float(self.size)

    def averaged(self, tables: Sequence[Matrix], counts: Vector) -> tuple[tuple[Matrix, ...], Vector]:
        """A mixture of products is no product: the loggers themselves."""
        return tuple(tables), counts

    def can_list_actions(self) -> bool:
        return self.size <= MAX_ENUMERATED_LABELS

    def to_arrow(self, action: Actions) -> Any:
        """A column of lists of one length."""
        import pyarrow as pa

        return pa.FixedSizeListArray.from_arrays(pa.array(action.ravel()), self.size)

    def of_arrow(self, column: Any) -> Actions:
        """What `to_arrow` made."""
        values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
        return values.reshape(-1, self.size).astype(np.uint8)

    @property
    def arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.list_(pa.uint8(), self.size)

    @property
    def torch(self) -> "TorchLabels":
        from multilogger.components.actions.torch_labels import TorchLabels

        return TorchLabels(self.size)
