"""The checks of a log beside those of its losses and propensities, which `estimators/checks.py` has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Matrix, Vector, is_action
from multilogger.components.datasets.labelled_data import Labels
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import Rows, at_row, first_of


def checked_actions(values: Matrix, labels: int, where: str, rows: Rows = None) -> NDArray[np.uint8]:
    """Label vectors of the policy's width, of 0 and 1 only."""
    if values.shape[1] != labels:
        raise BadInput(
            f"{where}: actions have {values.shape[1]} labels, the policy decides {labels}; "
            "was the policy learned on this problem?"
        )
    if (row := first_of(~is_action(values))) is not None:
        raise BadInput(f"{at_row(where, rows, row)}: a label vector holds 0 and 1 only, got {values[row]}")
    return values.astype(np.uint8)


def check_features(values: NDArray[np.float32], features: int, where: str, rows: Rows = None) -> None:
    """Contexts of the policy's width, all finite."""
    if values.shape[1] != features:
        raise BadInput(
            f"{where}: contexts have {values.shape[1]} features, the policy takes {features}; "
            "give those it was learned on, in their order"
        )
    if (row := first_of(~np.all(np.isfinite(values), axis=1))) is not None:
        raise BadInput(f"{at_row(where, rows, row)}: a feature is missing, NaN or infinite; fill it in")


def check_loggers(names: Sequence[str], logger: NDArray[np.int64], delta: Vector) -> None:
    """Every logger has at least two rows, and losses that vary."""
    counts = np.bincount(logger, minlength=len(names))
    for j, name in enumerate(names):
        if counts[j] == 0:
            raise BadInput(f"logger {name} has no rows; drop it, or evaluate on other rows")
        if counts[j] == 1:
            raise BadInput(f"logger {name} has a single row, from which no error can be told; drop it")
        losses = delta[logger == j]
        if losses.min() == losses.max():
            raise BadInput(
                f"the losses of logger {name} are all {losses[0]:g}; a logger whose losses never vary "
                "carries no information: mend its losses, or drop it"
            )


def check_contexts(context: NDArray[np.integer[Any]], contexts: int) -> None:
    """Refuse rows (n,) of contexts that are not among the m at hand."""
    if len(context) and not 0 <= context.min() <= context.max() < contexts:
        raise BadInput(
            f"context numbers must lie in 0..{contexts - 1}, got {context.min()} to {context.max()}; "
            "give the contexts that the log was made from"
        )


def check_tables(
    logger_logits: tuple[Matrix, ...], truth: Labels | None, loggers: int, shape: tuple[int, int]
) -> None:
    """Refuse logits of other loggers than the log's, and tables of other contexts; none at all may do."""
    if logger_logits and len(logger_logits) != loggers:
        raise BadInput(f"logits of {loggers} loggers are needed, got {len(logger_logits)}")
    for table in logger_logits:
        _check_table(table, shape)
    if truth is not None:
        _check_table(truth, shape)


def _check_table(table: NDArray[np.generic], shape: tuple[int, int]) -> None:
    if table.shape != shape:
        raise BadInput(f"logger_logits and truth must be (contexts, labels) = {shape}, got {table.shape}")
