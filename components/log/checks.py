"""The door: values of a log that no policy and no loss can have given, each with its own message.

`where` names the file; rows are counted from 0 within it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Matrix, Vector, is_action
from multilogger.components.errors import BadInput
from multilogger.components.estimators.logged_batch import PROPENSITY_TOLERANCE


def checked_log_propensity(values: Vector, is_log: bool, where: str, rows: NDArray[np.int64]) -> Vector:
    """Log propensities of logged actions, from either form."""
    name = "log_propensity" if is_log else "propensity"
    if (row := _first(np.isnan(values))) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: {name} is missing or NaN; log it when the action is taken, "
            "or drop the row"
        )
    zero = np.isneginf(values) if is_log else values <= 0
    if (row := _first(zero)) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: {name} is {values[row]:g}, a propensity of 0 for an action that was "
            "taken; log the probability at the time of the action"
        )
    if (row := _first(values > (0 if is_log else 1))) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: {name} is {values[row]:g}, a propensity above 1; give "
            + ("the natural logarithm of a probability" if is_log else "a probability, not a weight")
        )
    return values if is_log else np.log(values)


def check_losses(values: Vector, max_loss: float, where: str, rows: NDArray[np.int64]) -> None:
    """Losses are finite and lie in [0, max_loss]."""
    if (row := _first(~np.isfinite(values))) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: the loss is missing, NaN or infinite; fill it in or drop the row"
        )
    if (row := _first(values < 0)) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: the loss is {values[row]:g}, below 0; shift losses, or turn rewards "
            "r into losses, largest r minus r"
        )
    if (row := _first(values > max_loss)) is not None:
        raise BadInput(
            f"{where}, row {rows[row]}: the loss is {values[row]:g}, above the largest loss {max_loss:g}; "
            "was the policy learned on this problem? If so, say the largest possible one with --max-loss"
        )


def checked_actions(values: Matrix, labels: int, where: str, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Label vectors of the policy's width, of 0 and 1 only."""
    if values.shape[1] != labels:
        raise BadInput(
            f"{where}: actions have {values.shape[1]} labels, the policy decides {labels}; "
            "was the policy learned on this problem?"
        )
    if (row := _first(~is_action(values))) is not None:
        raise BadInput(f"{where}, row {rows[row]}: a label vector holds 0 and 1 only, got {values[row]}")
    return values.astype(np.uint8)


def check_features(values: NDArray[np.float32], features: int, where: str, rows: NDArray[np.int64]) -> None:
    """Contexts of the policy's width, all finite."""
    if values.shape[1] != features:
        raise BadInput(
            f"{where}: contexts have {values.shape[1]} features, the policy takes {features}; "
            "give those it was learned on, in their order"
        )
    if (row := _first(~np.all(np.isfinite(values), axis=1))) is not None:
        raise BadInput(f"{where}, row {rows[row]}: a feature is missing, NaN or infinite; fill it in")


def check_propensities(
    log_propensities: Matrix, own: Vector, logger: NDArray[np.int64], names: Sequence[str], where: str
) -> None:
    """Propensities under every logger: one column each, in the order of the loggers' names."""
    if log_propensities.shape[1] != len(names):
        raise BadInput(
            f"{where}: log_propensities has {log_propensities.shape[1]} numbers a row, the log has "
            f"{len(names)} loggers; give one a logger, in the order {', '.join(names)}"
        )
    if np.isnan(log_propensities).any() or (log_propensities > 0).any():
        raise BadInput(
            f"{where}: the propensities under every logger hold NaN or a propensity above 1; give "
            "probabilities, or their natural logarithms as log_propensities"
        )
    stated = log_propensities[np.arange(len(own)), logger]
    off = ~np.isclose(stated, own, rtol=PROPENSITY_TOLERANCE, atol=PROPENSITY_TOLERANCE)
    if (row := _first(off)) is not None:
        raise BadInput(
            f"{where}: a row of logger {names[logger[row]]} has log propensity {own[row]:.6g}, but "
            f"{stated[row]:.6g} in its place among all loggers; order the list as {', '.join(names)}"
        )


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


def _first(bad: NDArray[np.bool_]) -> int | None:
    found = np.flatnonzero(bad)
    return int(found[0]) if len(found) else None
