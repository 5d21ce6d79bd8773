"""Columns or arrays to the checked parts of a bandit log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilogger.components.actions.labels import Actions, Matrix, Vector
from multilogger.components.api.features import FeatureColumns
from multilogger.components.api.frames import WHERE, Rows, is_list
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_losses, check_propensities, checked_log_propensity
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.columns import FEATURE
from multilogger.components.log.files import index_labels
from multilogger.components.log.memory import densify

Names = str | Sequence[str]
Range = tuple[float, float]


@dataclass(frozen=True)
class Losses:
    """Losses (n,) in [0, `max_loss`]; `reward_range` is what they were made from, if from rewards."""

    loss: Vector
    max_loss: float
    reward_range: Range | None = None


@dataclass(frozen=True)
class Contexts:
    """Contexts (m, d) with the columns they come from, and the context of each row (n,)."""

    x: Features
    columns: FeatureColumns
    context: NDArray[np.int64]
    known: bool


@dataclass(frozen=True)
class Who:
    """The loggers' names in ascending order, and the place of each row's logger among them (n,)."""

    names: tuple[str, ...]
    logger: Loggers


def first_of(rows: Rows, wanted: Sequence[str]) -> str | None:
    """The first of some usual names that is a column."""
    return next((name for name in wanted if name in rows.names), None)


def only_one(what: str, **given: object) -> None:
    """Refuse two arguments that say the same thing."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise BadInput(f"{what} came twice, as {' and '.join(named)}; give one of them")


def read_actions(rows: Rows, action: Names) -> tuple[Actions, tuple[str, ...]]:
    """Label vectors (n, q) from a column of lists or from several columns of 0 and 1, and their names."""
    if isinstance(action, str):
        rows.require(action, "action")
        if not is_list(rows.kind(action)):
            raise BadInput(
                f"action {action!r} must be a column of lists of 0 and 1, or a list of such columns, got "
                f"{rows.kind(action)}; one action out of K is not there yet"
            )
    found = rows.matrix(action, "action")
    several = not isinstance(action, str) and found.shape[1] == len(action)
    names = tuple(action) if several else tuple(f"action_{i}" for i in range(found.shape[1]))
    return check_actions(found), names


def check_actions(action: ArrayLike) -> Actions:
    """Label vectors (n, q) of 0 and 1."""
    values = np.asarray(action, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise BadInput(f"action must be (n, q), one 0 or 1 per label, got shape {values.shape}")
    return checked_actions(values, values.shape[1], WHERE, np.arange(len(values)))


def check_truth(truth: ArrayLike, shape: tuple[int, int]) -> Actions:
    """The true labels of all contexts (m, q)."""
    labels = check_actions(truth)
    if labels.shape != shape:
        raise BadInput(f"truth must be (contexts, labels) = {shape}, got {labels.shape}")
    return labels


def check_loss(loss: ArrayLike, labels: int, max_loss: float | None) -> Losses:
    """Losses as given; the largest possible one is the number of labels unless it is stated."""
    values, most = np.asarray(loss, dtype=np.float64), float(labels) if max_loss is None else float(max_loss)
    if not (np.isfinite(most) and most > 0):
        raise BadInput(f"max_loss must be a number above 0, got {most:g}")
    if (above := np.flatnonzero(values > most)).size and np.isfinite(values[above[0]]):
        raise BadInput(
            f"{WHERE}, row {above[0]}: the loss is {values[above[0]]:g}, above the largest loss {most:g}"
            + (" (the number of labels)" if max_loss is None else "")
            + "; say the largest possible one with max_loss"
        )
    check_losses(values, most, WHERE, np.arange(len(values)))
    return Losses(values, most)


def check_reward(reward: ArrayLike, reward_range: Range | None) -> Losses:
    """Losses from rewards r: the largest possible reward minus r."""
    values = np.asarray(reward, dtype=np.float64)
    if (bad := np.flatnonzero(~np.isfinite(values))).size:
        raise BadInput(
            f"{WHERE}, row {bad[0]}: the reward is missing, NaN or infinite; fill it in or drop the row"
        )
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
    """Log propensities of the logged actions (n,), from either form."""
    found = np.asarray(values, dtype=np.float64)
    return checked_log_propensity(found, is_log, WHERE, np.arange(len(found)))


def check_all(table: ArrayLike, is_log: bool, own: Vector, who: Who) -> Matrix:
    """Log propensities under every logger (n, J), in the order of the loggers' names."""
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(own):
        raise BadInput(
            f"propensities must be (n, J), one per row and logger, got shape {values.shape} "
            f"for {len(own)} rows"
        )
    if not is_log:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(values)
    check_propensities(values, own, who.logger, who.names, WHERE)
    return values


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


def read_contexts(rows: Rows, features: Names | None, context: str | None, contexts: Rows | None) -> Contexts:
    """Features in the rows themselves, or in a frame of contexts that the rows name by id."""
    source = rows if contexts is None else contexts
    columns = FeatureColumns.of(source, usual_features(source) if features is None else features)
    x = columns.read(source)
    if context is None:
        if contexts is not None:
            raise BadInput("contexts are given apart; say with context= which column of the log names them")
        return Contexts(x, columns, np.arange(len(rows)), known=False)
    rows.require(context, "context")
    if contexts is None:
        return own_contexts(x, columns, rows.labels(context).index)
    return Contexts(x, columns, _places(rows, contexts, context), known=True)


def own_contexts(x: Features, columns: FeatureColumns, context: NDArray[np.int64]) -> Contexts:
    """Contexts by number, whose features stand in every one of their rows."""
    _, first = np.unique(context, return_index=True)
    once = x[first]
    differs = np.abs(densify(x) - densify(once[context])).max(axis=1)
    if (rows := np.flatnonzero(differs)).size:
        raise BadInput(
            f"{WHERE}, row {rows[0]}: its features are not those of row {first[context[rows[0]]]}, which has "
            "the same context id; give each context one id"
        )
    return Contexts(once, columns, context, known=True)


def _places(rows: Rows, contexts: Rows, context: str) -> NDArray[np.int64]:
    """The row of each row's context in the frame of contexts, by its column of the same name or by number."""
    ids: list[Any] = (
        contexts.table.column(context).to_pylist()
        if context in contexts.names
        else contexts.numbers_of_rows.tolist()
    )
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        raise BadInput(f"{len(ids) - len(place)} context ids stand twice in contexts; keep one row each")
    named = rows.labels(context)
    if unknown := [label for label in named.labels if label not in place]:
        raise BadInput(
            f"{len(unknown)} contexts of the log are not in contexts, the first being {unknown[0]!r}; "
            "add them"
        )
    return np.array([place[label] for label in named.labels], dtype=np.int64)[named.index]


def usual_features(rows: Rows) -> list[str]:
    """The list column x, or the columns x0, x1, ... in the order of their numbers."""
    if "x" in rows.names:
        return ["x"]
    found = sorted((int(match[1]), name) for name in rows.names if (match := FEATURE.fullmatch(name)))
    if not found:
        raise BadInput(
            f"{rows.where} has no features, neither a list column 'x' nor columns x0, x1, ...; name them "
            "with features="
        )
    return [name for _, name in found]
