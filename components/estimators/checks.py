"""Losses and propensities that no loss and no policy can have given, each with its own message.

`where` names the file or the log; rows are counted from 0 within it, `rows` (n,) where some were left out.
"""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput, short

PROPENSITY_TOLERANCE = 1e-4  # logs kept in float32 agree with themselves to about 1e-6

Rows = NDArray[np.int64] | None


def checked_log_propensity(values: Vector, is_log: bool, where: str, rows: Rows = None) -> Vector:
    """Log propensities of logged actions, from either form."""
    name = "log_propensity" if is_log else "propensity"
    if (row := first_bad(np.isnan(values))) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {name} is missing or NaN; log it when the action is taken, "
            "or drop the row"
        )
    if not is_log and (row := first_bad(values < 0)) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {name} is {values[row]:g}, below 0; give a probability, or name a "
            "column of natural logarithms as log_propensity (--log-propensity)"
        )
    zero = np.isneginf(values) if is_log else values == 0
    if (row := first_bad(zero)) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {name} is {values[row]:g}, a propensity of 0 for an action that "
            "was taken; log the probability at the time of the action"
        )
    if (row := first_bad(values > (0 if is_log else 1))) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {name} is {values[row]:g}, a propensity above 1; give "
            + ("the natural logarithm of a probability" if is_log else "a probability, not a weight")
        )
    return values if is_log else np.log(values)


LEAST_LEVEL, MOST_LEVEL = (
    0.5,
    0.9999,
)  # beyond, an end of an interval is the least or largest replicate
LARGEST_OUTCOME = 1e30
"""Losses and rewards are kept in 32 bits, and products of two of them are summed."""


def check_outcomes(values: Vector, what: str, where: str, rows: Rows = None) -> None:
    """Losses or rewards are finite, and so are sums of their squares."""
    if (row := first_bad(~np.isfinite(values))) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {what} is missing, NaN or infinite; fill it in or drop the row"
        )
    if (row := first_bad(np.abs(values) > LARGEST_OUTCOME)) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: {what} is {values[row]:g}, more than {LARGEST_OUTCOME:g} from 0; "
            "count it in a larger unit, or drop the row"
        )


def check_reward_range(low: float, high: float, name: str) -> tuple[float, float]:
    """The least and the largest possible reward."""
    if not -LARGEST_OUTCOME <= low < high <= LARGEST_OUTCOME:
        raise BadInput(
            f"{name} must be the least and then the largest possible reward, at most {LARGEST_OUTCOME:g} "
            f"from 0, got {low:g},{high:g}"
        )
    return low, high


def check_level(asked: object, name: str) -> None:
    """Refuse a level that intervals cannot have."""
    number = isinstance(asked, Real) and not isinstance(asked, bool)
    if not number or not LEAST_LEVEL <= float(asked) <= MOST_LEVEL:  # type: ignore[arg-type]
        raise BadInput(f"{name} must lie in [{LEAST_LEVEL}, {MOST_LEVEL}], got {short(asked)}; 0.95 is usual")


def check_losses(values: Vector, max_loss: float, where: str, rows: Rows = None) -> None:
    """Losses are finite and lie in [0, max_loss]."""
    check_outcomes(values, "the loss", where, rows)
    if (row := first_bad(values < 0)) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: the loss is {values[row]:g}, below 0; shift losses, or turn "
            "rewards r into losses, largest r minus r"
        )
    if (row := first_bad(values > max_loss)) is not None:
        raise BadInput(
            f"{at_row(where, rows, row)}: the loss is {values[row]:g}, above the largest loss {max_loss:g}; "
            "was the policy learned on this problem? If so, say the largest possible one, "
            "max_loss or --max-loss"
        )


def check_propensities(
    log_propensities: Matrix, own: Vector, logger: NDArray[np.int64], names: Sequence[str], where: str
) -> None:
    """Propensities under every logger: one column each, in the order of the loggers' names."""
    if log_propensities.shape[1] != len(names):
        raise BadInput(
            f"{where}: log_propensities has {log_propensities.shape[1]} numbers per row, the log has "
            f"{len(names)} loggers; give one per logger, in the order {', '.join(names)}"
        )
    check_table_of_propensities(log_propensities, where)
    stated = log_propensities[np.arange(len(own)), logger]
    off = ~np.isclose(stated, own, rtol=PROPENSITY_TOLERANCE, atol=PROPENSITY_TOLERANCE)
    if (row := first_bad(off)) is not None:
        raise BadInput(
            f"{where}: a row of logger {names[logger[row]]} has log propensity {own[row]:.6g}, but "
            f"{stated[row]:.6g} in its place among all loggers; order the list as {', '.join(names)}"
        )


def check_table_of_propensities(log_propensities: Matrix, where: str) -> None:
    """Logarithms of probabilities (n, J); -inf is that of 0: one logger may never do what another did."""
    if np.isnan(log_propensities).any() or (log_propensities > 0).any():
        raise BadInput(
            f"{where}: the propensities under every logger hold NaN or a propensity above 1; give "
            "probabilities, or their natural logarithms as log_propensities"
        )


def at_row(where: str, rows: Rows, row: int) -> str:
    return f"{where}, row {row if rows is None else rows[row]}"


def first_bad(bad: NDArray[np.bool_]) -> int | None:
    found = np.flatnonzero(bad)
    return int(found[0]) if len(found) else None
