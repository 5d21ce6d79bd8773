"""The checks of a log beside those of its losses and propensities, which `estimators/checks.py` has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import Rows, at_row, first_bad
from multilogger.components.names import check_label


def checked_actions(
    values: NDArray[Any], space: ActionSpace, where: str, rows: Rows = None
) -> NDArray[np.integer[Any]]:
    """Actions of the policy's space."""
    if values.shape[1:] != space.action_shape:
        raise BadInput(
            f"{where}: actions have {_width(values.shape[1:])}, the policy decides "
            f"{_width(space.action_shape)}; was the policy learned on this problem?"
        )
    if (row := first_bad(~space.is_action(values))) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {_rule(space)}, got {values[row]}; mend it or drop the row"
        )
    return np.asarray(values.astype(space.action_type))


def _width(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} labels" if shape else "one choice each"


def _rule(space: ActionSpace) -> str:
    if space.action_shape:
        return "a label vector holds 0 and 1 only"
    return f"an action is a whole number from 0 to {space.size - 1}"


def check_features(values: NDArray[np.float32], features: int, where: str, rows: Rows = None) -> None:
    """Contexts of the policy's width, all finite."""
    if values.shape[1] != features:
        raise BadInput(
            f"{where}: contexts have {values.shape[1]} features, the policy takes {features}; "
            "give those it was learned on, in their order"
        )
    if (row := first_bad(~np.all(np.isfinite(values), axis=1))) is not None:
        raise BadInput(f"{at_row(where, rows, row)}: a feature is missing, NaN or infinite; fill it in")


def check_loggers(names: Sequence[str], logger: NDArray[np.int64], delta: Vector) -> None:
    """Every logger has at least two rows, and the losses of the log vary."""
    counts = np.bincount(logger, minlength=len(names))
    for j, name in enumerate(names):
        check_label("logger", name)
        if counts[j] == 0:
            raise BadInput(f"logger {name} has no rows; drop it, or evaluate on other rows")
        if counts[j] == 1:
            raise BadInput(f"logger {name} has a single row, from which no error can be told; drop it")
    check_varied(delta)


def check_varied(delta: Vector) -> None:
    """The losses of a log vary."""
    if delta.min() == delta.max():
        raise BadInput(
            f"the losses of all rows are {delta[0]:g}; losses that never vary tell no action from another: "
            "was the right column named?"
        )


def check_contexts(context: NDArray[np.integer[Any]], contexts: int) -> None:
    """Refuse rows (n,) of contexts that are not among the m at hand."""
    if len(context) and not 0 <= context.min() <= context.max() < contexts:
        raise BadInput(
            f"context numbers must lie in 0..{contexts - 1}, got {context.min()} to {context.max()}; "
            "give the contexts that the log was made from"
        )


def check_tables(
    logger_logits: tuple[Matrix, ...], truth: Actions | None, loggers: int, contexts: int, space: ActionSpace
) -> None:
    """Refuse logits of other loggers than the log's, and tables of other contexts; none at all may do."""
    if logger_logits and len(logger_logits) != loggers:
        raise BadInput(f"logits of {loggers} loggers are needed, got {len(logger_logits)}")
    for table in logger_logits:
        _check_table(table, (contexts, space.size))
    if truth is not None:
        _check_table(truth, (contexts, *space.action_shape))


def _check_table(table: NDArray[np.generic], shape: tuple[int, ...]) -> None:
    if table.shape != shape:
        raise BadInput(f"logger_logits and truth must have one row per context, {shape}, got {table.shape}")
