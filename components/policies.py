"""Stochastic policies that decide each label on its own.

h(y|x) = prod_l p_l(x)^y_l (1 - p_l(x))^(1 - y_l), with p_l the sigmoid of logit l.
Everything that knows that an action is a vector of Bernoulli labels stands in this file.
Logits are (n, q), in float64; probabilities of whole actions stay in the log domain, because at
22 labels a propensity is about 1e-7 and ratios of two of them span 1e7.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from multilogger.components.errors import BadInput

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Actions = NDArray[np.uint8]


def marginals(logits: Matrix) -> Matrix:
    """p_l(x), the probability of each label: (n, q)."""
    return np.asarray(expit(logits), dtype=np.float64)


def log_probability(logits: Matrix, y: Actions) -> Vector:
    """log h(y|x) of each row: (n,)."""
    _check_width(logits, y)
    signs = 2.0 * y - 1.0
    return np.asarray(log_expit(signs * logits).sum(axis=1), dtype=np.float64)


def sample(logits: Matrix, uniforms: Matrix) -> Actions:
    """y ~ h(.|x) from one uniform number in [0, 1) a label; the caller owns the generator."""
    return (uniforms < marginals(logits)).astype(np.uint8)


def greedy(logits: Matrix) -> Actions:
    """The most likely action of each row: every label with p_l > 1/2."""
    return (logits > 0).astype(np.uint8)


def hamming(y: Actions, truth: Actions) -> Vector:
    """delta(x, y), the number of labels assigned wrongly: (n,)."""
    _check_width(y, truth)
    return np.asarray((y != truth).sum(axis=1), dtype=np.float64)


def expected_hamming(logits: Matrix, truth: Actions) -> Vector:
    """E_{y ~ h(.|x)} delta(x, y) of each row in closed form: (n,). Its mean over test is EXP (section 5.1.1).

    sum_l p_l (1 - y*_l) + (1 - p_l) y*_l
    """
    _check_width(logits, truth)
    p = marginals(logits)
    return np.asarray(np.where(truth == 1, 1.0 - p, p).sum(axis=1), dtype=np.float64)


def _check_width(left: NDArray[np.generic], right: NDArray[np.generic]) -> None:
    if left.shape != right.shape:
        raise BadInput(
            f"policy and labels must have the same rows and labels, got {left.shape} and {right.shape}; "
            "were they made from the same dataset?"
        )
