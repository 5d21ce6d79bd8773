"""Defaults of Prefect and MLflow that must be in the environment before either is imported.

Every one of them gives way to a variable that is already set.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from multilogger.components.errors import BadInput, first_line, short, without_secrets
from multilogger.tasks.engine.store import LOGIN_VARIABLE, Store

RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
PATIENT_RETRIES = "6"  # after 0, 4, 8, 16, 32 and 64 seconds: a server may be away for two minutes

DEFAULTS = {
    # no telemetry, no look-ups
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # a fresh database takes 17-26 s to migrate, over Prefect's limit of 20 s
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # the ephemeral server otherwise loses records of tasks when the process ends at once;
    # Prefect cuts the interval to whole seconds, and 0 makes the server spin on a core
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    # servers of several commands share one SQLite file: each waits for its turn, also on a busy machine
    "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
    "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
    # seven more processes of 256 MB that nothing here uses
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # a server that does not answer is said within seconds, not minutes
    RETRIES: "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}


# Where the library itself looks for user and password of an address: together, or one by one.
LOGINS = {
    "PREFECT_API_URL": ("PREFECT_API_AUTH_STRING",),
    "MLFLOW_TRACKING_URI": ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"),
    "MULTILOGGER_MIRROR": (LOGIN_VARIABLE,),
}


def set_defaults() -> None:
    """Set what is not set yet. Prefect's database goes to the store unless PREFECT_HOME says otherwise."""
    with suppress(BadInput):  # every command says it; this is read when we are imported
        hide_logins()
    if logging.getLogRecordFactory() is not _discreet_record:
        logging.setLogRecordFactory(_discreet_record)
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    with suppress(BadInput):  # a command that opens the store says it; this is read when we are imported
        store = Store.current()
        os.environ.setdefault("PREFECT_HOME", str(store.prefect_home))
        if not _has_home():
            os.environ["HOME"] = str(store.root)  # libraries look for it; none of them may write elsewhere


def patient_retries() -> dict[str, str]:
    """How often to ask an MLflow server that has answered already; what a person chose counts."""
    chosen = os.environ.get(RETRIES, DEFAULTS[RETRIES])
    return {RETRIES: PATIENT_RETRIES if chosen == DEFAULTS[RETRIES] else chosen}


def _has_home() -> bool:
    """Not in a container whose user has a number alone (`docker run -u 12345`) and no HOME."""
    try:
        return bool(Path.home())
    except RuntimeError:
        return False


def hide_logins() -> None:
    """Take user and password out of addresses: those get into messages, records and pages, variables do not.

    That of a database cannot be taken out: it stays in the variable, and is hidden wherever it is shown.
    """
    for name in LOGINS:
        if not (address := os.environ.get(name)):
            continue
        try:
            if address.startswith("http"):
                os.environ[name] = without_login(name, address)
            elif "://" in address:
                _split(address)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from error


def without_login(name: str, address: str) -> str:
    """An address of a kind of `LOGINS`, and its user and password put where the library looks for them."""
    parts = _split(address)
    login, _, host = parts.netloc.rpartition("@")
    user, colon, password = login.partition(":")
    if not colon:
        return address
    if len(LOGINS[name]) == 1:
        os.environ.setdefault(LOGINS[name][0], f"{unquote(user)}:{unquote(password)}")
    else:
        for variable, value in zip(LOGINS[name], (user, password), strict=True):
            os.environ.setdefault(variable, unquote(value))
    return urlunsplit(parts._replace(netloc=host))


def _split(address: str) -> SplitResult:
    """The parts of an address; one that has none is refused, by this library or by Python's own."""
    try:
        return urlsplit(address)
    except ValueError as error:
        shown = short(without_secrets(address))
        raise BadInput(
            f"{shown} is no address ({first_line(error)[:80]}); write it as http://HOST:PORT, and a [ or ] "
            "that is not around a host's number as %5B or %5D"
        ) from error


_make_record = logging.getLogRecordFactory()


def _discreet_record(*values: Any, **named: Any) -> logging.LogRecord:
    """A log record without passwords, those of the errors behind an error among them.

    Prefect sends the records of a flow to its server, with the whole traceback of what made it fail.
    """
    record = _make_record(*values, **named)
    with suppress(TypeError, ValueError):  # arguments that do not fit are the concern of who shows it
        message = record.getMessage()
        if (hidden := without_secrets(message)) != message:
            record.msg, record.args = hidden, ()
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
    return record
