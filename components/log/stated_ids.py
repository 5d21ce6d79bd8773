"""The ids of actions that files of this package have by number, as their schema says them."""

from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.json_text import stated_json
from multilogger.components.log.actions import ActionId
from multilogger.components.log.schema import ACTIONS, read_facts


def check_stated_ids(dataset: Any) -> None:
    """Refuse files that number their actions differently: a number would have two meanings."""
    if ACTIONS.encode() not in (dataset.schema.metadata or {}):
        return
    fragments = list(dataset.get_fragments())
    for one in fragments[1:]:
        known = [(part.physical_schema.metadata or {}).get(ACTIONS.encode()) for part in (fragments[0], one)]
        if known[0] != known[1]:
            raise BadInput(
                f"{fragments[0].path} and {one.path} have different actions; write both from one log, or "
                "from logs with the same actions="
            )


def stated_ids(schema: Any) -> list[ActionId] | None:
    """The ids of one-of actions by number, where the schema of a file says them."""
    names = (schema.metadata or {}).get(ACTIONS.encode())
    if names is None:
        return None
    if (facts := read_facts(schema)) is not None:  # a file of `write_parquet`, which keeps the kind of ids
        return list(facts["actions"])
    words = stated_json(names, ACTIONS, list)
    numbers = [str(number) for number in range(len(words))]
    return list(range(len(words))) if words == numbers else words
