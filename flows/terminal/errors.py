"""What a person sees when something goes wrong: one line on stderr, an exit code; `--debug` for the rest."""

import errno
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import typer

from multilogger.components.errors import BadInput, first_line, shortened, without_secrets
from multilogger.tasks.engine.disk_room import is_full, says_full
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

USER_ERROR = 2
BUG = 1
SERVER_FAULTS = ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED")
INCOMPLETE = 3
INTERRUPTED = 130
TERMINATED = 143
GOES_ON = "finished stages are kept, the same command goes on from there"
TERMINATED_LINE = f"terminated; {GOES_ON}"
ENDINGS = {INTERRUPTED: f"interrupted; {GOES_ON}", TERMINATED: TERMINATED_LINE}

# Newer versions of Typer have a copy of click inside, without a public name for this class.
UsageError = cast(type[typer.BadParameter], typer.BadParameter.__bases__[0])

OURS = "multilogger."  # how the modules of our own warnings begin

NO_MEMORY = "the memory does not suffice: give smaller numbers or fewer rows, or take a machine with more"
NO_MEMORY_WORDS = ("DefaultCPUAllocator", "Storage size calculation overflowed", "array is too big")
REMEDIES = {
    errno.ENOSPC: f"the disk is full: free some space, or move the store with {ROOT_VARIABLE}",
    errno.EDQUOT: f"the disk quota is used up: free some space, or move the store with {ROOT_VARIABLE}",
    errno.EACCES: f"no permission: mend it, or move the store with {ROOT_VARIABLE}",
    errno.EPERM: f"no permission: mend it, or move the store with {ROOT_VARIABLE}",
    errno.EROFS: f"the file system is read-only: move the store with {ROOT_VARIABLE}",
    errno.ENAMETOOLONG: "a name is longer than any file can have: give another path",
    errno.ELOOP: "a link leads back to itself: mend it, or give another path",
    errno.ENOMEM: NO_MEMORY,
}


@contextmanager
def one_line_errors(debug: bool) -> Iterator[None]:
    """Turn exceptions of the enclosed command into one line and an exit code."""
    told: list[int] = []

    def terminate(number: int, _frame: object) -> None:
        """SIGTERM and a closed terminal unwind as Ctrl-C does: runs are marked, children stopped.

        Only once: `timeout` and service managers send the signal to the process and to its group, and the
        second would break the unwinding of the first.
        """
        if not told:
            told.append(number)
            sys.stderr.write(f"multilogger: {TERMINATED_LINE}\n")
            raise SystemExit(TERMINATED)

    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, terminate)
    try:
        yield
    except (typer.Exit, SystemExit):
        raise
    except BaseException as error:
        ending_code = _ending_behind(error)
        if ending_code is None and debug:
            traceback.print_exception(error)
        if ending_code == TERMINATED and told:
            raise typer.Exit(TERMINATED) from error  # the line was written when the signal came
        line, code = explain(error)
        _stop(line, code)


@contextmanager
def one_line_usage() -> Iterator[None]:
    """Turn what is wrong with the options themselves, or with the environment, into one line too."""
    try:
        yield
    except BadInput as error:
        sys.stderr.write(f"multilogger: {error}\n")
        sys.exit(USER_ERROR)
    except UsageError as error:
        if text := error.format_message().rstrip("."):  # none: the help was shown instead
            command = error.ctx.command_path if error.ctx else "multilogger"
            line = shortened(without_secrets(f"{text[0].lower()}{text[1:]} (see '{command} --help')"))
            sys.stderr.write(f"multilogger: {line}\n")
        sys.exit(USER_ERROR)


def explain(error: BaseException) -> tuple[str, int]:
    """The line and the exit code for an exception."""
    if (ending := _ending_behind(error)) is not None:
        return ENDINGS[ending], ending
    if isinstance(error, BadInput):
        return str(error), USER_ERROR
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of `expanduser`
        return "nobody knows the home folder that ~ stands for; write the path without it", USER_ERROR
    full = _disk_error_behind(error)
    if full is not None:
        where = f" ({full.filename})" if full.filename else ""
        return shortened(without_secrets(f"{REMEDIES[full.errno or 0]}{where}")), USER_ERROR
    if any(_is_of_memory(link) for link in _chain(error)):
        return NO_MEMORY, USER_ERROR
    if says_full(str(error)) or _is_full():
        return REMEDIES[errno.ENOSPC], USER_ERROR
    if any(type(link).__name__ == "PrefectHTTPStatusError" for link in _chain(error)):
        return shortened(f"the Prefect server failed: {error}; {GOES_ON}"), USER_ERROR
    if any(_is_of_mlflow(link) for link in _chain(error)):
        return shortened(f"the MLflow server failed: {first_line(error)}; {GOES_ON}"), USER_ERROR
    text = without_secrets(" ".join(str(error).split()))[:250]
    return (
        f"unexpected {type(error).__name__}: {text}; run again with --debug before the command for details",
        BUG,
    )


def _ending_behind(error: BaseException) -> int | None:
    """The exit code of the signal that led to an exception, if one did.

    A signal that comes while a thread gives up or takes a lock leaves the lock in the wrong state, and the
    unwinding then fails with words like "release unlocked lock". The signal is the reason, not the lock.
    """
    for link in _chain(error):
        if isinstance(link, KeyboardInterrupt):
            return INTERRUPTED
        prefects = type(link).__name__ == "TerminationSignal"  # in a flow; not imported: seconds
        if prefects or (isinstance(link, SystemExit) and link.code == TERMINATED):
            return TERMINATED
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those behind it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_of_mlflow(error: BaseException) -> bool:
    """Whether MLflow's server is away or broken; what it refuses is a fault of ours."""
    named = any(kind.__name__ == "MlflowException" for kind in type(error).__mro__)  # an import takes seconds
    return named and getattr(error, "error_code", "") in SERVER_FAULTS


def _disk_error_behind(error: BaseException | None) -> OSError | None:
    """The file system's complaint in a chain of exceptions, if there is one with a remedy."""
    complaints = (link for link in _chain(error) if isinstance(link, OSError) and link.errno in REMEDIES)
    return next(complaints, None)


def _is_of_memory(error: BaseException) -> bool:
    """Whether memory was asked for that there is not; libraries have other words for it too."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY_WORDS)


def _is_full() -> bool:
    """Whether the store has no room left."""
    try:
        return is_full(Store.current().root)
    except BadInput:
        return False


def _stop(line: str, code: int) -> None:
    sys.stderr.write(f"multilogger: {line}\n")
    raise typer.Exit(code)


def warn_in_lines() -> None:
    """Say our own warnings as all else is said; those of libraries stay as they are."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category.__module__.startswith(OURS):
            sys.stderr.write(f"Warning: {shortened(without_secrets(str(message)))}\n")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
