"""Which rows judge a policy: those that it was learned from flatter it."""

from contextlib import suppress

from multilogger.components.errors import BadInput
from multilogger.components.json_text import parsed_json
from multilogger.flows.evaluation.log_source import LogSource
from multilogger.flows.evaluation.policy_source import NamedPolicy
from multilogger.tasks.engine.artifact import MANIFEST
from multilogger.tasks.engine.store import Store
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings

ITS_OWN_ROWS = (
    "the policy was learned from these files, so the estimate is optimistic: its own training rows flatter "
    "it; give rows that it has not seen, a later log, or take the estimate of held-out rows that learn gave"
)


def choose_rows(validation_only: bool | None, named: NamedPolicy, source: LogSource) -> tuple[bool, str]:
    """Whether to use validation rows only, and the line that says why.

    Rows that a policy was learned from flatter it; so when nothing tells where it was learned, they are left
    out too.
    """
    marked = source.files.columns.validation is not None
    if validation_only and not marked:
        raise BadInput("--validation-only needs a column 'validation' (true or false) in the log")
    if validation_only is not None or not marked:
        return bool(validation_only), (
            "Validation rows only, as asked." if validation_only else "All rows of the log."
        )
    if named.log_key is not None and source.key is not None and named.log_key != source.key:
        return False, _another_log(named.data_key is not None and named.data_key == source.data_key)
    if named.log_key is not None and named.log_key == source.key:
        return True, (
            "Validation rows only: the policy was learned from this very log, and its training rows flatter "
            "it (--all-rows uses them all the same)."
        )
    return True, (
        "Validation rows only: nothing tells whether the policy was learned from the other rows, which would "
        "flatter it (--all-rows uses them)."
    )


def _another_log(same_contexts: bool) -> str:
    if not same_contexts:
        return "All rows: the policy was learned from another log."
    what = "All rows: the policy was learned from another log of the same contexts."
    return f"{what} It has met them all, so the figures are a little too good for contexts that are new."


def learned_from(named: NamedPolicy, log: ImportLogSettings | None, store: Store) -> bool:
    """Whether a policy was learned from the very files of a log: its import has their digest.

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
