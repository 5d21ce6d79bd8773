"""Rows of a one-of-K log for the tests of its loss models."""

from dataclasses import replace

import numpy as np

from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows

ACTIONS, CONTEXTS = 4, 120


def problem(seed: int = 0, height: float = 0.0, scale: float = 1.0) -> ModelRows:
    """Three rows per context; the largest feature is the right action, which the policy misses by turns."""
    rng = np.random.default_rng(seed)
    context = np.tile(np.arange(CONTEXTS), 3)
    x = rng.normal(size=(CONTEXTS, ACTIONS)).astype(np.float32)[context]
    action = rng.integers(0, ACTIONS, len(x))
    delta = height + scale * (x.argmax(axis=1) != action)
    logits = np.where(np.arange(len(x))[:, None] % 2, x, -x).astype(np.float64)
    return ModelRows(context, np.arange(len(x)) % 2, logits, action, delta.astype(np.float64), x)


def part_of(rows: ModelRows, at: slice | np.ndarray) -> ModelRows:
    x = None if rows.x is None else rows.x[at]
    return ModelRows(rows.context[at], rows.logger[at], rows.logits[at], rows.action[at], rows.delta[at], x)


def every_action(rows: ModelRows, row: int) -> ModelRows:
    """One row as often as there are actions, with each of them."""
    return replace(part_of(rows, np.full(ACTIONS, row)), action=np.arange(ACTIONS))


def flipped(rows: ModelRows, mine: np.ndarray, largest: float = 1.0) -> ModelRows:
    """The same rows with other losses where `mine` says so."""
    return replace(rows, delta=np.where(mine, largest - rows.delta, rows.delta))
