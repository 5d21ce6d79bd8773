"""Columns or arrays to the checked parts of a bandit log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import SPACES, ActionSpace
from multilogger.components.errors import BadInput, first_line
from multilogger.components.estimators.checks import (
    LARGEST_OUTCOME,
    PROPENSITY_TOLERANCE,
    check_losses,
    check_outcomes,
    check_propensities,
    checked_log_propensity,
)
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.features.frames import WHERE, Rows
from multilogger.components.log.actions import (
    ActionIds,
    Decisions,
    id_column,
    number_ids,
    one_of_decisions,
    usual_ids,
)
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.files import index_labels, is_list

Names = str | Sequence[str]
Range = tuple[float, float]


@dataclass(frozen=True)
class Losses:
    """Losses (n,) in [0, `max_loss`]; `reward_range` is what they were made from, if from rewards."""

    loss: Vector
    max_loss: float
    reward_range: Range | None = None


@dataclass(frozen=True)
class Who:
    """The loggers' names in ascending order, and the place of each row's logger among them (n,)."""

    names: tuple[str, ...]
    logger: Loggers


def first_column(rows: Rows, wanted: Sequence[str]) -> str | None:
    """The first of some usual names that is a column."""
    return next((name for name in wanted if name in rows.names), None)


def only_one(what: str, **given: object) -> None:
    """Refuse two arguments that say the same thing."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise BadInput(f"{what} came twice, as {' and '.join(named)}; give one of them")


def read_actions(rows: Rows, action: Names, listed: Any = None) -> Decisions:
    """One-of actions from a column of ids, label vectors from a column of lists or columns of 0 and 1."""
    if isinstance(action, str):
        rows.require(action, "action")
        if not is_list(rows.kind(action)):
            return one_of_decisions(rows.column(action, "action"), listed, WHERE)
    found = rows.matrix(action, "action")
    several = not isinstance(action, str) and found.shape[1] == len(action)
    return _label_vectors(check_actions(found), listed, tuple(action) if several else None)


def given_actions(action: ArrayLike, listed: Any = None) -> Decisions:
    """The same from an array: ids (n,) or label vectors (n, q)."""
    try:
        is_column = np.ndim(action) == 1
    except ValueError:  # rows of several lengths, which are told of below
        is_column = False
    if is_column:
        return one_of_decisions(id_column(action, "action"), listed, WHERE)
    return _label_vectors(check_actions(action), listed)


def _label_vectors(action: Actions, listed: Any, names: ActionIds | None = None) -> Decisions:
    if listed is not None:
        raise BadInput(
            "actions= lists what one action per row is chosen from, but these are label vectors; leave it out"
        )
    space = SPACES["labels"](int(action.shape[1]))
    return Decisions(action, usual_ids(space) if names is None else names, space)


def as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """An array of numbers of any shape."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"{name} must be an array of numbers, rows of one length ({first_line(error)}); mend it"
        ) from error


def check_actions(action: ArrayLike) -> Actions:
    """Label vectors (n, q) of 0 and 1."""
    values = as_numbers(action, "action")
    if values.ndim != 2 or not values.size:
        raise BadInput(
            f"action must be (n, q), one 0 or 1 per label, or (n,), one id per row, got shape {values.shape}"
        )
    return checked_actions(values, SPACES["labels"](values.shape[1]), WHERE, np.arange(len(values)))


def check_given(action: ArrayLike, space: ActionSpace, ids: ActionIds, what: str) -> Actions:
    """Actions that a person gives as a log or a policy names them."""
    if space.action_shape:
        return check_actions(action)
    return number_ids(id_column(action, what), ids, what, "the array")[0]


def check_truth(truth: ArrayLike, contexts: int, space: ActionSpace, ids: ActionIds) -> Actions:
    """The right action of every context: labels (m, q), or ids (m,) as numbers."""
    found, wanted = check_given(truth, space, ids, "truth"), (contexts, *space.action_shape)
    if found.shape != wanted:
        axes = "(contexts, labels)" if space.action_shape else "(contexts,)"
        raise BadInput(f"truth must be {axes} = {wanted}, got {found.shape}")
    return found


def check_loss(loss: ArrayLike, space: ActionSpace, max_loss: float | None) -> Losses:
    """Losses as given; the largest possible one is that of the action space unless it is stated."""
    values, most = as_numbers(loss, "loss"), space.largest_loss if max_loss is None else float(max_loss)
    if not 0 < most <= LARGEST_OUTCOME:
        raise BadInput(f"max_loss must be a number above 0 and at most {LARGEST_OUTCOME:g}, got {most:g}")
    if (above := np.flatnonzero(values > most)).size and np.isfinite(values[above[0]]):
        raise BadInput(
            f"{WHERE}, row {above[0]}: the loss is {values[above[0]]:g}, above the largest loss {most:g}"
            + (" (the number of labels)" if max_loss is None and space.action_shape else "")
            + "; say the largest possible one with max_loss"
        )
    check_losses(values, most, WHERE, np.arange(len(values)))
    return Losses(values, most)


def check_reward(reward: ArrayLike, reward_range: Range | None) -> Losses:
    """Losses from rewards r: the largest possible reward minus r."""
    values = as_numbers(reward, "reward")
    check_outcomes(values, "the reward", WHERE)
    low, high = (values.min(), values.max()) if reward_range is None else reward_range
    low, high = float(low), float(high)
    if not low < high:
        raise BadInput(
            f"rewards must vary, got {low:g} to {high:g}; give the least and the largest possible reward as "
            "reward_range"
        )
    if (out := np.flatnonzero((values < low) | (values > high))).size:
        raise BadInput(
            f"{WHERE}, row {out[0]}: the reward is {values[out[0]]:g}, outside reward_range "
            f"({low:g}, {high:g}); widen it"
        )
    return Losses(high - values, high - low, (low, high))


def check_own(values: ArrayLike, is_log: bool) -> Vector:
    """Log propensities of the logged actions (n,), from either form; NaN where they are missing."""
    found = as_numbers(values, "log_propensity" if is_log else "propensity")
    if not is_log and (below := np.flatnonzero(found < 0)).size:
        raise BadInput(
            f"{WHERE}, row {below[0]}: propensity is {found[below[0]]:g}, below 0; give a probability, or "
            "its natural logarithm as log_propensity"
        )
    known = np.flatnonzero(~np.isnan(found))
    checked = np.full(len(found), np.nan)
    checked[known] = checked_log_propensity(found[known], is_log, WHERE, known)
    return checked


def check_all(table: ArrayLike, is_log: bool, own: Vector, who: Who, mapped: bool = False) -> Matrix:
    """Log propensities under every logger (n, J), in the order of the loggers' names.

    `mapped` says that columns were named logger by logger, so that there is no order to mistake. What is
    missing is NaN.
    """
    values = as_numbers(table, "propensities")
    if values.ndim != 2 or len(values) != len(own):
        raise BadInput(
            f"propensities must be (n, J), one per row and logger, got shape {values.shape} "
            f"for {len(own)} rows"
        )
    if values.shape[1] == len(who.names):
        _check_each(values, is_log, who)
    if not is_log:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(values)
    stated = values[np.arange(len(own)), np.minimum(who.logger, values.shape[1] - 1)]
    own = np.where(np.isnan(own), stated, own)
    if mapped:
        off = np.abs(stated - own) > PROPENSITY_TOLERANCE * (1.0 + np.abs(own))
        if (wrong := np.flatnonzero(off)).size:
            row, name = wrong[0], who.names[who.logger[wrong[0]]]
            raise BadInput(
                f"{WHERE}, row {row}: the propensity under its own logger {name} is {np.exp(own[row]):.6g}, "
                f"but {np.exp(stated[row]):.6g} in the column named for {name}; name the right column"
            )
    said, whole = ~np.isnan(stated), np.nan_to_num(values, neginf=-np.inf)
    check_propensities(whole[said], own[said], who.logger[said], who.names, WHERE)
    return values


def _check_each(values: Matrix, is_log: bool, who: Who) -> None:
    """Refuse what is no probability, or no logarithm of one, by row and logger."""
    fine = np.isnan(values) | (values <= 0 if is_log else (values >= 0) & (values <= 1))
    if not (bad := np.argwhere(~fine)).size:
        return
    row, logger = bad[0].tolist()
    value = values[row, logger]
    which = f"{WHERE}, row {row}: the {'log ' * is_log}propensity under logger {who.names[logger]} is"
    raise BadInput(
        f"{which} {value:g}, {'above 0' if is_log else 'outside [0, 1]'}; give probabilities, or their "
        "natural logarithms as log_propensities"
    )


def read_all(rows: Rows, columns: Names | Mapping[Any, str], who: Who) -> Matrix:
    """The columns of all loggers' propensities; a mapping says which column is whose."""
    if not isinstance(columns, Mapping):
        return rows.matrix(columns, "propensities")
    by_name = {str(logger): column for logger, column in columns.items()}
    if set(by_name) != set(who.names):
        raise BadInput(
            f"propensities must name the column of every logger, got {', '.join(by_name)} for the loggers "
            f"{', '.join(who.names)}"
        )
    return rows.matrix([by_name[name] for name in who.names], "propensities")


def who_acted(labels: Any, rows: int) -> Who:
    """Number the loggers of an Arrow or numpy column of labels; None is a single logger."""
    import pyarrow as pa

    if labels is None:
        return Who(("logger",), np.zeros(rows, dtype=np.int64))
    chunks = labels.chunks if isinstance(labels, pa.ChunkedArray) else [pa.array(np.asarray(labels))]
    found = index_labels(chunks, "logger")
    return Who(tuple(str(label) for label in found.labels), found.index)
