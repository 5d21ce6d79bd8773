"""How many rows of a log a policy has learned from: its estimate there is too good.

A row is known again by its features, action, logger and loss. Only those count that stand once in either log.
Of rows drawn anew at most a share 1/e does so by chance, whatever the features: a row with a expected twins
among the learned ones has exactly one with probability a exp(-a). More than that are the same rows.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.log.keys import Keys, feature_keys, mixed

MOST_BY_CHANCE = 0.4  # above 1/e = 0.368


class HasRows(Protocol):
    """The contexts (m, d) of a log, and of each row the context, action, logger and loss: (n,)."""

    @property
    def x(self) -> Features: ...
    @property
    def context(self) -> NDArray[np.int64]: ...
    @property
    def action(self) -> Actions: ...
    @property
    def logger(self) -> NDArray[np.int64]: ...
    @property
    def loss(self) -> Vector: ...


def keys_of_rows(log: HasRows) -> Keys:
    """A key per row, equal for equal rows: (n,)."""
    action = mixed(log.action) if log.action.ndim == 1 else feature_keys(log.action)
    parts = [feature_keys(log.x)[log.context], action, mixed(log.logger), feature_keys(log.loss[:, None])]
    key = parts[0]
    for part in parts[1:]:
        key = mixed(key) ^ part
    return np.asarray(mixed(key))


def learned_before(log: HasRows, learned: Keys | None) -> str | None:
    """What has to be said of an estimate by rows that the policy was learned from."""
    if learned is None:
        return None
    rows = len(log.loss)
    shared = len(np.intersect1d(_single(keys_of_rows(log)), _single(learned), assume_unique=True))
    if shared <= MOST_BY_CHANCE * rows:
        return None
    return (
        f"the policy was learned from {shared:,} of these {rows:,} rows, so the estimate is optimistic; "
        "give rows that it has not seen: the other part of log.split, or a later log"
    )


def _single(keys: Keys) -> Keys:
    found, counts = np.unique(keys, return_counts=True)
    return np.asarray(found[counts == 1])
