"""The parts of a log's rows, checked; a message names the file and the row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import (
    PROPENSITY_TOLERANCE,
    check_outcomes,
    checked_log_propensity,
)
from multilogger.components.features.frames import Rows
from multilogger.components.log.actions import ActionIds, places_of
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.unreadable import Distinct, distinct
from multilogger.components.own_log.mapping import Mapping

ONE_LOGGER = "logger"  # the name of the only one


def labelled(rows: Rows, name: str, what: str) -> Distinct:
    """A column of ids, none missing."""
    import pyarrow as pa

    column = rows.column(name, what)
    kind = column.type
    if pa.types.is_floating(kind) or not (pa.types.is_primitive(kind) or _is_text(kind)):
        remedy = "write the file in UTF-8" if pa.types.is_binary(kind) else "cast it"
        raise BadInput(
            f"{rows.where}: column {name!r} ({what}) must hold whole numbers, words or booleans, got {kind}; "
            f"{remedy}"
        )
    if column.null_count:
        gap = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise BadInput(f"{rows.at(gap)}: {name!r} ({what}) is missing; fill it in or drop the row")
    return distinct(column.combine_chunks(), name)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def loggers_of(rows: Rows, mapping: Mapping) -> Distinct:
    """Who acted."""
    if mapping.logger is None:
        return Distinct([ONE_LOGGER], np.zeros(len(rows), dtype=np.int64))
    return labelled(rows, mapping.logger, "logger")


def label_vectors(rows: Rows, mapping: Mapping) -> Matrix:
    """Actions as they stand in a column of lists or in several columns: (n, q)."""
    found = rows.matrix(mapping.action if len(mapping.action) > 1 else mapping.action[0], "action")
    if not found.shape[1]:
        raise BadInput(
            f"{rows.where}: column {mapping.action[0]!r} (action) has empty lists; give one 0 or 1 per label"
        )
    return found


def actions_of(rows: Rows, mapping: Mapping, space: ActionSpace, ids: ActionIds) -> Actions:
    """Actions as numbers or label vectors of the space."""
    if space.action_shape:
        return checked_actions(label_vectors(rows, mapping), space, rows.where, rows.numbers_of_rows)
    found = labelled(rows, mapping.action[0], "action")
    numbers = places_of(found.values, ids)[found.place]
    if (wrong := np.flatnonzero(numbers < 0)).size:
        value = found.values[found.place[wrong[0]]]
        raise BadInput(
            f"{rows.at(int(wrong[0]))}: action {value!r} is not among the {len(ids)} of --all-actions; "
            "add it, or drop the row"
        )
    return numbers.astype(space.action_type)


def outcomes_of(rows: Rows, mapping: Mapping) -> Vector:
    """Rewards or losses, all of them finite: (n,)."""
    values = rows.numbers(mapping.loss, "reward" if mapping.is_reward else "loss")
    check_outcomes(values, repr(mapping.loss), rows.where, rows.numbers_of_rows)
    return values


def check_rewards(rows: Rows, values: Vector, low: float, high: float) -> None:
    """Rewards lie in the stated range."""
    if (out := np.flatnonzero((values < low) | (values > high))).size:
        raise BadInput(
            f"{rows.at(int(out[0]))}: the reward is {values[out[0]]:g}, outside --reward-range "
            f"{low:g},{high:g}; widen it"
        )


def own_propensity(rows: Rows, mapping: Mapping) -> Vector:
    """log h_j(y|x) under the row's own logger, NaN where it was not logged: (n,)."""
    if mapping.propensity is None:
        return np.full(len(rows), np.nan)
    values = rows.numbers(mapping.propensity, "propensity")
    known = ~np.isnan(values)
    out = np.full(len(rows), np.nan)
    out[known] = checked_log_propensity(
        values[known], mapping.is_log, rows.where, rows.numbers_of_rows[known]
    )
    return out


def table_of(rows: Rows, mapping: Mapping) -> Matrix:
    """The propensities under every logger as they stand, NaN where there is none: (n, J)."""
    several = mapping.propensities
    return rows.matrix(several if len(several) > 1 else several[0], "propensities")


def all_propensities(rows: Rows, mapping: Mapping, loggers: tuple[str, ...]) -> Matrix | None:
    """log h_k(y|x) under every logger, NaN where it was not logged: (n, J)."""
    if not mapping.propensities:
        return None
    values = table_of(rows, mapping)
    if values.shape[1] != len(loggers):
        raise BadInput(
            f"{rows.where}: {', '.join(mapping.propensities)} give {values.shape[1]} propensities a row, the "
            f"log has {len(loggers)} loggers; give one per logger, in the order {', '.join(loggers)}"
        )
    wrong = values > 0 if mapping.are_log else (values < 0) | (values > 1)
    if wrong.any():
        row, j = np.argwhere(wrong)[0].tolist()
        raise BadInput(
            f"{rows.at(row)}: the {'log ' * mapping.are_log}propensity under logger {loggers[j]} is "
            f"{values[row, j]:g}; give probabilities with --propensities, or their natural logarithms with "
            "--log-propensities"
        )
    if mapping.are_log:
        return values
    with np.errstate(divide="ignore"):
        return np.log(values)


def both_propensities(
    rows: Rows, mapping: Mapping, logger: NDArray[np.int64], loggers: tuple[str, ...]
) -> tuple[Vector, Matrix]:
    """Under the row's own logger (n,) and under every logger (n, J), NaN where nothing was logged."""
    own, table = own_propensity(rows, mapping), all_propensities(rows, mapping, loggers)
    places = np.arange(len(rows))
    if table is None:
        table = np.full((len(rows), len(loggers)), np.nan)
        table[places, logger] = own
        return own, table
    stated = table[places, logger]
    own = np.where(np.isnan(own), stated, own)
    off = ~np.isnan(stated) & ~np.isclose(stated, own, rtol=PROPENSITY_TOLERANCE, atol=PROPENSITY_TOLERANCE)
    if (wrong := np.flatnonzero(off)).size:
        row = int(wrong[0])
        raise BadInput(
            f"{rows.at(row)}: the propensity under its own logger {loggers[logger[row]]} is "
            f"{np.exp(own[row]):.6g}, but {np.exp(stated[row]):.6g} in its place among all loggers; order "
            f"them as {', '.join(loggers)}"
        )
    table = table.copy()  # what Arrow holds cannot be written
    table[places, logger] = own
    return own, table
