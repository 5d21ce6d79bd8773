"""The column of actions of a log, as the policy that is asked about it numbers them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import at_row, first_of
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.schema import ACTIONS

MOST_NAMED = 8  # of the names that a message lists


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
        import pyarrow as pa

        kind = chunk.batch.column(self._column).type
        lists = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if lists != bool(self._space.action_shape):
            raise BadInput(
                f"{chunk.where}: column {self._column!r} must hold {_wanted(self._space)}, got {kind}; was "
                "the policy learned on this problem?"
            )
        if lists:
            return checked_actions(chunk.matrix(self._column), self._space, chunk.where, chunk.rows)
        return self._chosen(chunk)

    def _chosen(self, chunk: ColumnBatch) -> Actions:
        """One number per row, looked up once per action that occurs."""
        column = chunk.batch.column(self._column)
        if (row := first_of(np.asarray(column.is_null()))) is not None:
            raise BadInput(
                f"{at_row(chunk.where, chunk.rows, row)}: the action is missing; fill it in or drop the row"
            )
        encoded = column.dictionary_encode()
        place: NDArray[np.integer[Any]] = np.asarray(encoded.indices)
        values = encoded.dictionary.to_pylist()
        numbers = np.array([self._number(value) for value in values], dtype=np.int64)
        found: Actions = numbers[place].astype(self._space.action_type)
        if (row := first_of(found < 0)) is not None:
            raise BadInput(
                f"{at_row(chunk.where, chunk.rows, row)}: {self._rule()}, got {values[place[row]]!r}; "
                f"{self._remedy()}"
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
        return f"an action is one of {_listed(self._numbers)}"

    def _remedy(self) -> str:
        if self._numbers is None:
            return "number the actions as those that the policy was learned on"
        return "drop the row, or learn a policy that knows the action"


def stated_actions(schema: Any) -> tuple[str, ...] | None:
    """The names of actions that a log's schema has, in the order of their places."""
    names = (schema.metadata or {}).get(ACTIONS.encode())
    return None if names is None else tuple(json.loads(names))


def _name(value: object) -> str:
    """What a value of a column is called; 3.0, as a column with gaps has it, is 3."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _wanted(space: ActionSpace) -> str:
    if space.action_shape:
        return f"lists of numbers, 0 or 1 of each of {space.size} labels"
    return f"the number or the name of one of {space.size} actions"


def _listed(names: Mapping[str, int]) -> str:
    first = list(names)[:MOST_NAMED]
    return ", ".join(first) + (f", ... ({len(names)} in all)" if len(names) > MOST_NAMED else "")
