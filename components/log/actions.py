"""The actions of a log: what a person calls them, and the numbers that they have inside.

Inside, an action of `OneOf` is a number from 0; its id is the one at this place in the list of ids. Ids are
whole numbers, words or booleans, and keep their kind: 3 is not '3', and True is not 1. Label vectors have no
ids, only names of their labels. A reader of files matches the names that files and policies say.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput, first_line, short
from multilogger.components.estimators.checks import at_row, first_bad
from multilogger.components.json_text import stated_json
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.files import ColumnBatch, index_labels, is_list
from multilogger.components.log.schema import ACTIONS
from multilogger.components.log.unreadable import distinct

ActionId = int | str
ActionIds = tuple[ActionId, ...]

FEWEST_ACTIONS = 2
MOST_NAMED = 8  # of the names that a message lists


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
            f"{what} must be one id per row, whole numbers or words ({first_line(error)}); mend it"
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
    if (row := first_bad(numbers < 0)) is not None:
        raise BadInput(
            f"{where}, row {row}: {what} {found.labels[found.index[row]]!r} is not one of the {len(ids)} "
            f"actions {_first(map(repr, ids), 5)}; mend it, or list it among all possible actions"
        )
    return numbers, ids


def one_of_decisions(column: Any, listed: Iterable[Any] | None, where: str) -> Decisions:
    """One-of actions from an Arrow column of ids; `listed` are all possible ones."""
    numbers, ids = number_ids(column, None if listed is None else check_ids(listed), "action", where)
    return Decisions(numbers, ids, OneOf(len(ids)))


def ids_of(action: Actions, ids: ActionIds, space: ActionSpace) -> NDArray[Any]:
    """Actions as a person has them: ids (n,) of one-of actions, label vectors (n, q) as they are."""
    return action if space.action_shape else _array(ids)[action]


def places_of(wanted: Iterable[Any], ids: Iterable[Any]) -> NDArray[np.int64]:
    """Where each of the wanted ids stands among all, -1 for one that is not there: (wanted,)."""
    place = {id_key(one): number for number, one in enumerate(ids)}
    return np.array([place.get(id_key(one), -1) for one in wanted], dtype=np.int64)


def _array(ids: ActionIds) -> NDArray[Any]:
    array = np.array(ids)
    # Of numbers too large for 64 bits numpy would make floating ones.
    return array if array.dtype.kind in "biuU" else np.array(ids, dtype=object)


def id_key(one: Any) -> tuple[bool, Any]:
    """What tells ids apart in a dict: Python takes True for 1."""
    return isinstance(one, bool), one


class ActionReader:
    """Reads actions batch by batch.

    `numbers` says which number the policy gives to each name of an action; without it, actions are called by
    their numbers. `schema` is that of the log; where it names the actions, the column has places among them.
    """

    def __init__(
        self, space: ActionSpace, schema: Any, column: str, numbers: Mapping[str, int] | None = None
    ) -> None:
        self._space, self._column = space, column
        self._stated = None if space.action_shape else stated_actions(schema)
        # A log that knows its actions by number alone is read by number, unless those are the policy's names.
        bare = self._stated == tuple(str(number) for number in range(space.size))
        self._numbers = numbers = None if bare and "0" not in (numbers or {}) else numbers
        if self._stated is not None and numbers is None and len(self._stated) != space.size:
            raise BadInput(
                f"the log names {len(self._stated)} actions, the policy chooses one of {space.size}; was the "
                "policy learned on this problem?"
            )

    def __call__(self, chunk: ColumnBatch) -> Actions:
        """The actions of some rows, checked."""
        kind = chunk.batch.column(self._column).type
        lists = is_list(kind)
        if lists != bool(self._space.action_shape):
            raise BadInput(
                f"{chunk.where}: column {self._column!r} must hold {_wanted(self._space)}, got {kind}; was "
                "the policy learned on this problem?"
            )
        if not lists and kind.num_fields:  # a structure or a map
            raise BadInput(
                f"{chunk.where}: column {self._column!r} must hold {_wanted(self._space)}, got {kind}"
            )
        if lists:
            return checked_actions(chunk.matrix(self._column), self._space, chunk.where, chunk.rows)
        return self._chosen(chunk)

    def _chosen(self, chunk: ColumnBatch) -> Actions:
        """One number per row, looked up once per action that occurs."""
        column = chunk.batch.column(self._column)
        if (row := first_bad(np.asarray(column.is_null()))) is not None:
            raise BadInput(
                f"{at_row(chunk.where, chunk.rows, row)}: the action is missing; fill it in or drop the row"
            )
        each = distinct(column, self._column)
        numbers = np.array([self._number(value) for value in each.values], dtype=np.int64)
        found: Actions = numbers[each.place].astype(self._space.action_type)
        if (row := first_bad(found < 0)) is not None:
            got = short(each.values[each.place[row]])
            raise BadInput(
                f"{at_row(chunk.where, chunk.rows, row)}: {self._rule()}, got {got}; {self._remedy()}"
            )
        return found

    def _number(self, value: object) -> int:
        """The policy's number of an action by what the log calls it, -1 if there is none."""
        name = _name(value)
        if self._stated is not None and not isinstance(value, str):
            if not name.isdecimal() or int(name) >= len(self._stated):
                return -1
            name = name if self._numbers is None else self._stated[int(name)]
        if self._numbers is not None:
            return self._numbers.get(name, -1)
        return int(name) if name.isdecimal() and int(name) < self._space.size else -1

    def _rule(self) -> str:
        if self._numbers is None:
            return f"an action is a whole number from 0 to {self._space.size - 1}"
        count = f" ({len(self._numbers)} in all)" if len(self._numbers) > MOST_NAMED else ""
        return f"an action is one of {_first(self._numbers, MOST_NAMED)}{count}"

    def _remedy(self) -> str:
        if self._numbers is None:
            return "number the actions as those that the policy was learned on"
        return "drop the row, or learn a policy that knows the action"


def stated_actions(schema: Any) -> tuple[str, ...] | None:
    """The names of actions that a log's schema has, in the order of their places."""
    names = (schema.metadata or {}).get(ACTIONS.encode())
    return None if names is None else tuple(stated_json(names, ACTIONS, list))


def _name(value: object) -> str:
    """What a value of a column is called; 3.0, as a column with gaps has it, is 3."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _wanted(space: ActionSpace) -> str:
    if space.action_shape:
        return f"lists of numbers, 0 or 1 of each of {space.size} labels"
    return f"the number or the name of one of {space.size} actions"


def _first(names: Iterable[str], most: int) -> str:
    """The first names of all, for a message."""
    every = list(names)
    return ", ".join(every[:most]) + (", ..." if len(every) > most else "")
