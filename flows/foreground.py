"""Commands that run until somebody stops them."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_stopped() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal all end the block in the same orderly way, exit code 0."""
    before = {ending: signal.signal(ending, _interrupt) for ending in ENDINGS}
    try:
        yield
    except KeyboardInterrupt:
        tell("Stopped")
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


@contextmanager
def deferring_endings() -> Iterator[None]:
    """Let a signal wait for the end of the block: what starts or stops children must not be cut in two."""
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {ending: signal.signal(ending, note) for ending in ENDINGS}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        if came:
            os.kill(os.getpid(), came[0])


def tell(line: str) -> None:
    """A line on stdout, at once; a closed terminal is no reason to stop."""
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
