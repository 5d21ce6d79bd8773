"""Losses of label vectors, and their expectation under policies that decide each label on its own."""

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import check_width, marginals


def hamming(y: Actions, truth: Actions) -> Vector:
    """delta(x, y), the number of labels assigned wrongly: (n,)."""
    check_width(y, truth)
    return np.asarray((y != truth).sum(axis=1), dtype=np.float64)


def expected_hamming(logits: Matrix, truth: Actions) -> Vector:
    """E_{y ~ h(.|x)} delta(x, y) of each row in closed form: (n,). Its mean over test is EXP (section 5.1.1).

    sum_l p_l (1 - y*_l) + (1 - p_l) y*_l
    """
    check_width(logits, truth)
    p = marginals(logits)
    return np.asarray(np.where(truth == 1, 1.0 - p, p).sum(axis=1), dtype=np.float64)


def expected_label_sum(logits: Matrix, level: Matrix, effects: Matrix) -> Vector:
    """E_{y ~ h(.|x)} sum_l [ level_l + y_l effect_l ] of each row: (n,)."""
    return np.asarray((level + marginals(logits) * effects).sum(axis=1), dtype=np.float64)


def expected_neighbours(logits: Matrix) -> Vector:
    """E_{y ~ h(.|x)} sum_l y_l y_{l+1}, l + 1 counted in a ring, of each row: (n,)."""
    p = marginals(logits)
    return np.asarray((p * np.roll(p, -1, axis=1)).sum(axis=1), dtype=np.float64)
