"""Whether a policy was learned from the very files that it is to be judged by."""

from contextlib import suppress

from multilogger.components.errors import BadInput
from multilogger.components.json_text import parsed_json
from multilogger.flows.evaluation.policy_source import NamedPolicy
from multilogger.tasks.engine.artifact import MANIFEST
from multilogger.tasks.engine.store import Store
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings

ITS_OWN_ROWS = (
    "the policy was learned from these files, so the estimate is optimistic: its own training rows flatter "
    "it; give rows that it has not seen, a later log, or take the estimate of held-out rows that learn gave"
)


def learned_from(named: NamedPolicy, log: ImportLogSettings | None, store: Store) -> bool:
    """The import that the policy was learned from says by its digest which files it read.

    False also where the store has lost the import, or where the same rows stand in other files.
    """
    if log is None or named.data_key is None:
        return False
    digest = _imported_digest(named.data_key, store)
    return digest is not None and digest == _digest(log)


def _imported_digest(key: str, store: Store) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError, BadInput):
        text = (store.artifacts / import_log.name / key / MANIFEST).read_text(encoding="utf-8")
        return str(parsed_json(text)["settings"]["digest"])
    return None


def _digest(log: ImportLogSettings) -> str | None:
    with suppress(BadInput, OSError):
        return log.found_digest()
    return None
