"""JSON that somebody else may have written, or damaged."""

import json
from typing import Any

from multilogger.components.errors import BadInput


def parsed_json(text: str | bytes) -> Any:
    """What a text says; one that is no JSON, or nested deeper than Python reads, is a `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def stated_json(text: bytes, key: str, kind: type) -> Any:
    """What the schema of a log's file says under a key, a list or an object."""
    try:
        found = parsed_json(text)
    except ValueError as error:
        raise BadInput(f"the schema of the log has no JSON under {key!r}; write the file again") from error
    if not isinstance(found, kind):
        raise BadInput(f"the schema of the log has no {kind.__name__} under {key!r}; write the file again")
    return found
