"""From named columns of a frame, or from arrays, to a bandit log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.contexts import Contexts, read_contexts
from multilogger.components.api.read_log import (
    Losses,
    Names,
    Range,
    Who,
    as_numbers,
    check_all,
    check_loss,
    check_own,
    check_reward,
    first_column,
    given_actions,
    only_one,
    read_actions,
    read_all,
    who_acted,
)
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_reward_range
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.frames import WHERE, Rows, to_arrow
from multilogger.components.log.actions import Decisions
from multilogger.components.log.checks import check_contexts, check_features


class ColumnNames(TypedDict, total=False):
    """The columns of a log by name; `None` for one that the log lacks. See `BanditLog.from_frame`."""

    action: Names
    actions: Iterable[Any] | None
    reward: str | None
    loss: str | None
    propensity: str | None
    log_propensity: str | None
    propensities: Names | Mapping[Any, str] | None
    log_propensities: Names | Mapping[Any, str] | None
    logger: str | None
    features: Names | FeatureColumns | None
    context: str | None
    time: str | None
    validation: str | None
    max_loss: float | None
    reward_range: Range | None


def log_of_frame(frame: Any, columns: ColumnNames, contexts: Any) -> BanditLog:
    """A log from a frame of any library; see `BanditLog.from_frame`."""
    rows = Rows(to_arrow(frame))
    _check_twice(columns)
    decisions = read_actions(rows, columns.get("action", "action"), columns.get("actions"))
    logger = columns.get("logger") or first_column(rows, ("logger",))
    who = who_acted(None if logger is None else rows.column(logger, "logger"), len(rows))
    whole = columns.get("propensities") or columns.get("log_propensities")
    whole = whole or first_column(rows, ("log_propensities", "propensities"))
    are_log = columns.get("log_propensities") is not None or whole == "log_propensities"
    time = columns.get("time")
    validation = columns.get("validation") or first_column(rows, ("validation",))
    return _checked(
        contexts=read_contexts(
            rows,
            columns.get("features"),
            columns.get("context") or first_column(rows, ("context",)),
            None if contexts is None else Rows(to_arrow(contexts), "contexts"),
            dict(columns),
        ),
        decisions=decisions,
        losses=_read_losses(rows, columns, decisions.space),
        own=_read_own(rows, columns),
        who=who,
        every=None if whole is None else read_all(rows, whole, who),
        are_log=are_log,
        mapped=isinstance(whole, Mapping),
        time=None if time is None else rows.times(time),
        validation=None if validation is None else rows.numbers(validation, "validation") == 1,
    )


def log_of_arrays(
    x: Features | ArrayLike,
    action: ArrayLike,
    *,
    names: Sequence[str] | None,
    actions: Iterable[Any] | None,
    rewards: ArrayLike | None,
    losses: ArrayLike | None,
    propensity: ArrayLike | None,
    log_propensity: ArrayLike | None,
    propensities: ArrayLike | None,
    log_propensities: ArrayLike | None,
    logger: ArrayLike | None,
    context: ArrayLike | None,
    time: ArrayLike | None,
    validation: ArrayLike | None,
    max_loss: float | None,
    reward_range: Range | None,
) -> BanditLog:
    """A log from arrays; see `BanditLog.from_arrays`."""
    from scipy import sparse

    only_one("the loss", reward=rewards, loss=losses)
    only_one("the propensity", propensity=propensity, log_propensity=log_propensity)
    only_one("the propensities", propensities=propensities, log_propensities=log_propensities)
    decisions = given_actions(action, actions)
    rows = len(decisions.action)
    given: Any = x if sparse.issparse(x) else as_numbers(x, "x").astype(np.float32)
    if given.ndim != 2:
        raise BadInput(f"x must be (n, d), one row of features per context, got shape {given.shape}")
    columns = FeatureColumns.numbered(given.shape[1], names)
    is_log = propensity is None
    own = log_propensity if is_log else propensity
    every = log_propensities if propensities is None else propensities
    number = np.arange(rows) if context is None else np.asarray(context, dtype=np.int64)
    return _checked(
        contexts=Contexts(columns(given), columns, number, known=context is not None),
        decisions=decisions,
        losses=_losses(rewards, losses, decisions.space, max_loss, reward_range),
        own=np.full(rows, np.nan) if own is None else check_own(own, is_log),
        who=who_acted(logger, rows),
        every=every,
        are_log=log_propensities is not None,
        time=None if time is None else np.asarray(time),
        validation=None if validation is None else np.asarray(validation, dtype=np.bool_),
    )


def _checked(
    contexts: Contexts,
    decisions: Decisions,
    losses: Losses,
    own: Vector,
    who: Who,
    every: ArrayLike | None,
    are_log: bool,
    time: NDArray[np.generic] | None,
    validation: NDArray[np.bool_] | None,
    mapped: bool = False,
) -> BanditLog:
    """All parts together, if they are of one length."""
    lengths = {
        "context" if contexts.known else "x": len(contexts.context),
        "action": len(decisions.action),
        "the loss": len(losses.loss),
        "the propensity": len(own),
        "logger": len(who.logger),
    }
    lengths |= {} if time is None else {"time": len(time)}
    lengths |= {} if validation is None else {"validation": len(validation)}
    if not contexts.known:
        lengths["x"] = int(contexts.x.shape[0])
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadInput(f"a log needs columns of one length, got {found}; take all of them from the same rows")
    check_contexts(contexts.context, int(contexts.x.shape[0]))
    if isinstance(contexts.x, np.ndarray):
        check_features(contexts.x, contexts.columns.width, WHERE, np.arange(len(contexts.x)))
    table = None if every is None else check_all(every, are_log, own, who, mapped)
    if table is not None:
        own = np.where(np.isnan(own), table[np.arange(len(own)), who.logger], own)
    return BanditLog(
        x=contexts.x,
        columns=contexts.columns,
        context=contexts.context,
        action=decisions.action,
        actions=decisions.names,
        space=decisions.space,
        loss=losses.loss,
        max_loss=losses.max_loss,
        log_propensity=own,
        logger=who.logger,
        loggers=who.names,
        log_propensities=table,
        contexts_known=contexts.known,
        reward_range=losses.reward_range,
        time=time,
        validation=validation,
        ids=contexts.ids,
    )


def _check_twice(columns: ColumnNames) -> None:
    for what, names in (
        ("the loss", ("reward", "loss")),
        ("the propensity", ("propensity", "log_propensity")),
        ("the propensities", ("propensities", "log_propensities")),
    ):
        only_one(what, **{name: dict(columns).get(name) for name in names})


def _read_losses(rows: Rows, columns: ColumnNames, space: ActionSpace) -> Losses:
    loss, reward = columns.get("loss"), columns.get("reward")
    if loss is None and reward is None:
        loss = first_column(rows, ("loss", "delta"))
        reward = None if loss else first_column(rows, ("reward",))
    return _losses(
        None if reward is None else rows.numbers(reward, "reward"),
        None if loss is None else rows.numbers(loss, "loss"),
        space,
        columns.get("max_loss"),
        columns.get("reward_range"),
    )


def _losses(
    rewards: ArrayLike | None,
    losses: ArrayLike | None,
    space: ActionSpace,
    max_loss: float | None,
    reward_range: Range | None,
) -> Losses:
    if rewards is not None:
        return check_reward(rewards, None if reward_range is None else _ends(reward_range))
    if losses is None:
        raise _lacking("what the action brought", "reward or loss")
    return check_loss(losses, space, max_loss)


def _ends(given: Range) -> Range:
    ends = as_numbers(given, "reward_range")
    if ends.shape != (2,):
        raise BadInput(f"reward_range must be the least and the largest possible reward, got {given!r}")
    return check_reward_range(float(ends[0]), float(ends[1]), "reward_range")


def _read_own(rows: Rows, columns: ColumnNames) -> Vector:
    own, is_log = columns.get("propensity"), False
    if own is None:
        own, is_log = columns.get("log_propensity") or first_column(rows, ("log_propensity",)), True
    if own is None:
        own, is_log = first_column(rows, ("propensity", "pscore")), False
    if own is None:
        return np.full(len(rows), np.nan)
    return check_own(rows.numbers(own, "propensity"), is_log)


def _lacking(what: str, names: str) -> BadInput:
    return BadInput(f"the log lacks {what}; say where it stands with {names}")
