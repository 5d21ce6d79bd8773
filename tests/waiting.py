"""Waiting for what other processes bring about."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

WAIT_SECONDS = 600.0  # of a busy machine; nothing takes so long on an idle one


def wait_for(
    what: Callable[[], T],
    process: subprocess.Popen[Any] | None = None,
    shown: Callable[[], object] = str,
    pause: float = 0.2,
    seconds: float = WAIT_SECONDS,
) -> T:
    """What is found in the end, the first time that it is true.

    A process that is to bring it about must not end before. `shown` says how far things came, for whoever
    reads that it did not happen. `what` itself raises as soon as it sees that it never will.
    """
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert process is None or process.poll() is None, f"ended with {process.poll()}: {shown()}"
        assert time.monotonic() < deadline, f"did not happen in {seconds:g} s: {shown()}"
        time.sleep(pause)
    return found


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(address: str) -> bool:
    """Does a server answer there?"""
    try:
        with urllib.request.urlopen(address, timeout=10) as response:
            return bool(response.status == 200)
    except OSError:
        return False
