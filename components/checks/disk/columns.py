"""Which columns of a log's files say what, and what they hold."""

import fnmatch
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.features.frames import Rows, is_time, is_word
from multilogger.components.log.columns import FEATURE
from multilogger.components.log.files import is_list

Names = tuple[str, ...]
WORDS = 2**20  # numbers that words are told apart by


@dataclass(frozen=True)
class Columns:
    """What a person says of the columns; the usual names where nothing is said."""

    action: Names = ()
    reward: str | None = None
    loss: str | None = None
    propensity: str | None = None
    log_propensity: str | None = None
    propensities: Names = ()
    log_propensities: Names = ()
    logger: str | None = None
    features: Names = ()
    context: str | None = None
    time: str | None = None


def resolved(wanted: Columns, names: Sequence[str]) -> Columns:
    """The columns that are there: those that were named, and the usual ones for the rest."""
    given = [wanted.reward, wanted.loss, wanted.propensity, wanted.log_propensity, wanted.logger]
    given += [wanted.context, wanted.time, *wanted.action, *wanted.propensities, *wanted.log_propensities]
    for name in given:
        if name is not None and name not in names:
            raise BadInput(f"the log has no column {name!r}, it has {_listed(names)}; name one of them")

    def usual(*candidates: str) -> str | None:
        return next((name for name in candidates if name in names), None)

    action = wanted.action or ("action",)
    if action[0] not in names:
        raise BadInput(f"the log has no column 'action', it has {_listed(names)}; name it with --action")
    loss = wanted.loss or (None if wanted.reward else usual("loss", "delta"))
    reward = wanted.reward or (None if loss else usual("reward"))
    if loss is None and reward is None:
        raise BadInput(f"the log has no rewards, only {_listed(names)}; name them with --reward or --loss")
    own = wanted.propensity
    log_own = wanted.log_propensity or (None if own else usual("log_propensity"))
    own = own or (None if log_own else usual("propensity", "pscore"))
    every, log_every = wanted.propensities, wanted.log_propensities
    if not every and not log_every:
        log_every = ("log_propensities",) if "log_propensities" in names else ()
        every = ("propensities",) if not log_every and "propensities" in names else ()
    found = replace(
        wanted,
        action=action,
        loss=loss,
        reward=reward,
        propensity=own,
        log_propensity=log_own,
        propensities=every,
        log_propensities=log_every,
        logger=wanted.logger or usual("logger"),
        context=wanted.context or usual("context"),
        time=wanted.time or usual("time"),
        features=(),
    )
    return replace(found, features=_features(wanted.features, found, names))


def _features(patterns: Names, columns: Columns, names: Sequence[str]) -> Names:
    """Those that patterns find among columns that say nothing else; none where a log has none."""
    if not patterns:
        numbered = sorted((int(m[1]), name) for name in names if (m := FEATURE.fullmatch(name)))
        return ("x",) if "x" in names else tuple(name for _, name in numbered)
    taken = {columns.loss, columns.reward, columns.propensity, columns.log_propensity, columns.logger}
    taken |= {columns.context, columns.time, *columns.action, *columns.propensities}
    found: list[str] = []
    for pattern in patterns:
        matching = fnmatch.filter([name for name in names if name not in taken], pattern)
        if not matching:
            raise BadInput(f"no free column is called {pattern!r} (--features), there are {_listed(names)}")
        found += matching
    return tuple(dict.fromkeys(found))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def ids_of(rows: Rows, name: str, what: str) -> tuple[list[Any], NDArray[np.int64]]:
    """A column of labels, each of them once, and the place of each row's among them (n,)."""
    column = rows.column(name, what)
    if column.null_count or column.type.num_fields:
        reason = "must hold one label per row" if column.type.num_fields else "is missing in some rows"
        raise BadInput(f"{rows.where}: column {name!r} ({what}) {reason}, got {column.type}; mend it")
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64)


def label_vectors(rows: Rows, names: Names) -> Matrix:
    """Actions of 0 and 1 in a column of lists or in several columns: (n, q)."""
    found = rows.matrix(names if len(names) > 1 else names[0], "action")
    if not np.isin(found, (0.0, 1.0)).all():
        raise BadInput(f"{rows.where}: a label vector holds 0 and 1 only; name such columns with --action")
    return found


def times_of(rows: Rows, name: str) -> Vector:
    """A column of numbers or moments: (n,)."""
    values = rows.seconds(name) if is_time(rows.kind(name)) else rows.numbers(name, "time")
    if np.isnan(values).any():
        raise BadInput(f"{rows.where}: column {name!r} (time) is missing in some rows; fill it in")
    return values


def feature_of(rows: Rows, name: str) -> Matrix:
    """A column as numbers: (n, width)."""
    kind = rows.kind(name)
    if is_list(kind):
        return rows.lists(name)
    if is_word(kind):
        coded = rows.coded(name)
        numbers = [float(zlib.crc32(word.encode()) % WORDS) for word in coded.words]
        return np.array([*numbers, np.nan])[coded.place][:, None]
    return (rows.seconds(name) if is_time(kind) else rows.numbers(name))[:, None]
