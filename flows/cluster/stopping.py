"""Stopping what runs on workers: Dask takes back what waits, but lets go on what has begun.

A worker's task is a thread. An exception raised in it from outside unwinds it as Ctrl-C does: its runs are
marked and its temporary files removed.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

GRACE_SECONDS = 8.0
ATTEMPTS = 2
POLL_SECONDS = 0.1

_working: dict[int, str] = {}  # by thread of this process: who asked for the work
_others: list[Any] = []  # what says the other exceptions that are lost


class Stopped(BaseException):
    """Whoever asked for the work wants it no more; not an `Exception`, so nobody takes it for a failure."""


@contextmanager
def stoppable(asker: str) -> Iterator[None]:
    """In a worker: let `stop` end this block."""
    if sys.unraisablehook is not _say_what_is_lost:
        _others.append(sys.unraisablehook)
        sys.unraisablehook = _say_what_is_lost
    thread = threading.get_ident()
    _working[thread] = asker
    try:
        yield
    finally:
        _working.pop(thread, None)


def _say_what_is_lost(lost: "sys.UnraisableHookArgs") -> None:
    """A `Stopped` that came while Python was cleaning up is raised again, so nobody needs to hear of it."""
    if lost.exc_type is not Stopped:
        _others[-1](lost)


def stop(asker: str) -> int:
    """In a worker: raise `Stopped` in what was asked for; how much of it there still is."""
    mine = [thread for thread, name in list(_working.items()) if name == asker]
    for thread in mine:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))
    return len(mine)


def still_working(asker: str) -> int:
    """In a worker: how much of what was asked for goes on."""
    return list(_working.values()).count(asker)


@contextmanager
def stopped_with_block(client: Any, asker: str, futures: list[Any]) -> Iterator[None]:
    """If the block is left by an exception, everything that it asked a cluster for ends."""
    try:
        yield
    except BaseException:
        client.cancel(futures, force=True)
        for _ in range(ATTEMPTS):
            if not any(client.run(stop, asker).values()) or _is_quiet(client, asker):
                break
        raise


def _is_quiet(client: Any, asker: str) -> bool:
    """Wait until nothing goes on; an exception that came while Python was cleaning up is lost."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        if not any(client.run(still_working, asker).values()):
            return True
        time.sleep(POLL_SECONDS)
    return False
