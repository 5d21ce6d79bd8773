"""The contexts of a log: features in its rows, or in a frame of their own by id."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.frames import WHERE, Rows
from multilogger.components.features.learn_encoding import learn_columns
from multilogger.components.log.columns import FEATURE, NO_FEATURE
from multilogger.components.log.memory import densify

NOT_KNOWN = (
    *("action", "reward", "loss", "logger"),
    *("propensity", "log_propensity", "propensities", "log_propensities"),
)


@dataclass(frozen=True)
class Contexts:
    """Contexts (m, d) with the columns they come from, and the context of each row (n,).

    `ids` are the columns with another value in nearly every row, where the encoding was learned from these.
    """

    x: Features
    columns: FeatureColumns
    context: NDArray[np.int64]
    known: bool
    ids: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.x.shape[1] == 0:
            raise BadInput("contexts have no features, as lists of them are empty; give each at least one")


def read_contexts(
    rows: Rows,
    features: str | Sequence[str] | FeatureColumns | None,
    context: str | None,
    contexts: Rows | None,
    named: Mapping[str, object],
) -> Contexts:
    """Features in the rows themselves, or in a frame of contexts that the rows name by id.

    `named` are the columns of the log by what they say: some of them no policy knows when it acts.
    """
    source = rows if contexts is None else contexts
    if contexts is None:
        _check_known_when_acting(features, named)
    if isinstance(features, FeatureColumns):
        columns, ids = features, {}
    else:
        learned = learn_columns(source, usual_features(source) if features is None else features)
        columns, ids = learned.columns, learned.ids
    return replace(_placed_contexts(rows, columns, context, contexts), ids=ids)


def _placed_contexts(
    rows: Rows, columns: FeatureColumns, context: str | None, contexts: Rows | None
) -> Contexts:
    x = columns.read(rows if contexts is None else contexts)
    if context is None:
        if contexts is not None:
            raise BadInput("contexts are given apart; say with context= which column of the log names them")
        return Contexts(x, columns, np.arange(len(rows)), known=False)
    rows.require(context, "context")
    if contexts is None:
        return own_contexts(x, columns, rows.labels(context).index)
    return Contexts(x, columns, _places(rows, contexts, context), known=True)


def _check_known_when_acting(
    features: str | Sequence[str] | FeatureColumns | None, named: Mapping[str, object]
) -> None:
    taken: set[object] = set()
    for name in NOT_KNOWN:
        one = named.get(name)
        if isinstance(one, Mapping):
            taken |= set(one.values())
        elif isinstance(one, Iterable) and not isinstance(one, str):
            taken |= set(one)
        else:
            taken.add(one)
    if isinstance(features, FeatureColumns):
        features = [column.name for column in features.columns]
    for feature in [features] if isinstance(features, str) else features or ():
        if feature in taken:
            raise BadInput(f"column {feature!r} {NO_FEATURE}")


def check_encoding(policy: FeatureColumns, log: FeatureColumns) -> None:
    """Refuse a log that turned the policy's columns into other features than the policy knows."""
    same = [column.name for column in policy.columns] == [column.name for column in log.columns]
    if same and policy.names != log.names:
        pairs = zip_longest(policy.names, log.names, fillvalue="none")
        known, found = next((one, other) for one, other in pairs if one != other)
        raise BadInput(
            f"the log has the feature {found!r} where the policy has {known!r}, as its columns were encoded "
            "anew; read the log with features=policy.columns"
        )


def own_contexts(x: Features, columns: FeatureColumns, context: NDArray[np.int64]) -> Contexts:
    """Contexts by number, whose features stand in every one of their rows."""
    _, first = np.unique(context, return_index=True)
    once = x[first]
    differs = np.abs(densify(x) - densify(once[context])).max(axis=1, initial=0.0)
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
