"""Progress of long work, shown by whoever is watching: a terminal, or nobody."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, Self


class Bar(Protocol):
    """A bar that is moved by calling it with the work done since the last call, and a note to show."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def __call__(self, amount: float = 1.0, note: str = "") -> None: ...


class Watcher(Protocol):
    """Shows bars, stages and cells that are done, and one-line messages."""

    def bar(self, doing: str, total: float | None) -> Bar: ...

    def done(self, line: str) -> None: ...

    def say(self, line: str) -> None: ...


class SilentBar:
    """Nobody is watching."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, amount: float = 1.0, note: str = "") -> None:
        return None


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Send bars and messages of the enclosed work to a watcher."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class Unticked:
    """A watcher that is not told of what is done."""

    def __init__(self, watcher: Watcher) -> None:
        self.bar, self.say = watcher.bar, watcher.say

    def done(self, line: str) -> None:
        return None


@contextmanager
def unticked() -> Iterator[None]:
    """Do not tell the watcher of the stages of the enclosed work; it is told of the whole."""
    watcher = _watcher.get()
    token = _watcher.set(Unticked(watcher) if watcher else None)
    try:
        yield
    finally:
        _watcher.reset(token)


def open_bar(doing: str, total: float | None) -> Bar:
    """A bar of the current watcher."""
    watcher = _watcher.get()
    return watcher.bar(doing, total) if watcher else SilentBar()


def tick_off(line: str) -> None:
    """Tell the watcher, if there is one, that a stage or a cell is done."""
    watcher = _watcher.get()
    if watcher:
        watcher.done(line)


def say(line: str) -> None:
    """Show one line now; without a watcher it goes to the log."""
    watcher = _watcher.get()
    if watcher:
        watcher.say(line)
    else:
        logging.getLogger("multilogger").warning(line)
