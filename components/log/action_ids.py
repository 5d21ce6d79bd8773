"""What a person calls the actions of a log: ids of one-of actions, whole numbers, words or booleans.

Inside, an action of `OneOf` is a number from 0; its id is the one at this place in the list of ids. Ids keep
their kind: 3 is not '3', and True is not 1. Label vectors have no ids, only names of their labels.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.log.files import index_labels

ActionId = int | str
ActionIds = tuple[ActionId, ...]

FEWEST_ACTIONS = 2


@dataclass(frozen=True)
class Decisions:
    """Actions of a space, and the names of its labels or the ids of its choices."""

    action: Actions
    names: ActionIds
    space: ActionSpace


def usual_ids(space: ActionSpace) -> ActionIds:
    """What actions are called that nobody named: labels action_0, action_1, ..., choices 0, 1, ..."""
    if space.action_shape:
        return tuple(f"action_{i}" for i in range(space.size))
    return tuple(range(space.size))


def size_word(space: ActionSpace) -> str:
    """What the size of a space counts."""
    return "labels" if space.action_shape else "actions"


def check_ids(listed: Iterable[Any]) -> ActionIds:
    """All possible actions, as a person lists them."""
    if isinstance(listed, str) or not np.iterable(listed):
        raise BadInput(f"actions must be a list of all possible actions, got {listed!r}")
    ids = tuple(one.item() if isinstance(one, np.generic) else one for one in listed)
    for one in ids:
        if not isinstance(one, int | str):
            raise BadInput(f"actions must hold whole numbers, words or booleans, got {one!r}; mend it")
    if len({type(one) for one in ids}) > 1:
        kinds = sorted({type(one).__name__ for one in ids})
        raise BadInput(f"actions must be of one kind, got {' and '.join(kinds)}; cast them to one")
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise BadInput(f"actions must be listed once each, got {twice!r} twice or more")
    if len(ids) < FEWEST_ACTIONS:
        raise BadInput(f"a choice needs two actions or more, got {len(ids)}; list all possible ones")
    return ids


def id_column(values: Any, what: str) -> Any:
    """Ids in an array of any library as an Arrow column."""
    import pyarrow as pa

    given = values if isinstance(values, list | tuple) else np.asarray(values)
    try:
        return pa.chunked_array([pa.array(given, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise BadInput(
            f"{what} must be one id per row, whole numbers or words ({str(error).splitlines()[0]}); mend it"
        ) from error


def number_ids(column: Any, ids: ActionIds | None, what: str, where: str) -> tuple[Actions, ActionIds]:
    """The numbers (n,) of an Arrow column of ids among all ids there are.

    Without a list of them they are those of the column, in ascending order.
    """
    import pyarrow as pa

    kind = column.type
    words = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not column.null_count and not (words or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise BadInput(
            f"{what} must hold whole numbers, words or booleans, or lists of 0 and 1, got {kind}; cast it"
        )
    found = index_labels(column.chunks, what)
    if ids is None:
        if len(found.labels) < FEWEST_ACTIONS:
            raise BadInput(
                f"{what} is {found.labels[0]!r} in every row; a choice needs two actions or more: list all "
                "possible ones with actions="
            )
        return found.index, found.labels
    numbers = places_of(found.labels, ids)[found.index]
    if (unknown := np.flatnonzero(numbers < 0)).size:
        row = int(unknown[0])
        raise BadInput(
            f"{where}, row {row}: {what} {found.labels[found.index[row]]!r} is not one of the {len(ids)} "
            f"actions {_shown(ids)}; mend it, or list it among all possible actions"
        )
    return numbers, ids


def choices(column: Any, listed: Iterable[Any] | None, where: str) -> Decisions:
    """One-of actions from an Arrow column of ids; `listed` are all possible ones."""
    numbers, ids = number_ids(column, None if listed is None else check_ids(listed), "action", where)
    return Decisions(numbers, ids, OneOf(len(ids)))


def ids_of(action: Actions, ids: ActionIds, space: ActionSpace) -> NDArray[Any]:
    """Actions as a person has them: ids (n,) of one-of actions, label vectors (n, q) as they are."""
    return action if space.action_shape else _array(ids)[action]


def places_of(wanted: Iterable[Any], ids: ActionIds) -> NDArray[np.int64]:
    """Where each of the wanted ids stands among all, -1 for one that is not there: (wanted,)."""
    place = {_key(one): number for number, one in enumerate(ids)}
    return np.array([place.get(_key(one), -1) for one in wanted], dtype=np.int64)


def _array(ids: ActionIds) -> NDArray[Any]:
    array = np.array(ids)
    # Of numbers too large for 64 bits numpy would make floating ones.
    return array if array.dtype.kind in "biuU" else np.array(ids, dtype=object)


def _key(one: Any) -> tuple[bool, Any]:
    """Python takes True for 1."""
    return isinstance(one, bool), one


def _shown(ids: ActionIds) -> str:
    return ", ".join(repr(one) for one in ids[:5]) + (", ..." if len(ids) > 5 else "")
