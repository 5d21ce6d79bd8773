"""What the schemas of files of this package say: the ids of actions by number, and facts of the log."""

from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.json_text import stated_json
from multilogger.components.log.actions import ActionId
from multilogger.components.log.schema import ACTIONS

FACTS = b"multilogger"  # the key of what `BanditLog.to_parquet` says beside the columns


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


def read_facts(schema: Any) -> dict[str, Any] | None:
    """The facts in an Arrow schema; None of a file that somebody else wrote."""
    known = (schema.metadata or {}).get(FACTS)
    if known is None:
        return None
    facts: dict[str, Any] = stated_json(known, FACTS.decode(), dict)
    if not (isinstance(facts.get("actions"), list) and isinstance(facts.get("max_loss"), int | float)):
        raise BadInput(f"the schema of the log has no actions or max_loss under {FACTS!r}; write it again")
    return facts
