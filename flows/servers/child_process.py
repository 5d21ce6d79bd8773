"""Processes that a command starts and must not leave behind, and commands that run until stopped.

Each has a process group of its own, so that its children end with it, and a lock that its parent holds.
A parent that was killed by SIGKILL drops the lock and the process lives on: the next start stops it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Self

from multilogger.components.errors import BadInput
from multilogger.tasks.engine.disk_room import is_full, no_room, says_full
from multilogger.tasks.engine.locks import FileLock, probing
from multilogger.tasks.engine.store import Store

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_stopped() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal all end the block in the same orderly way, exit code 0."""
    with _handled_by(_interrupt):
        try:
            yield
        except KeyboardInterrupt:
            tell("Stopped")


@contextmanager
def deferring_endings() -> Iterator[None]:
    """Let a signal wait for the end of the block: what starts or stops children must not be cut in two."""
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    try:
        with _handled_by(note):
            yield
    finally:
        if came:
            os.kill(os.getpid(), came[0])


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Send every signal that ends a command to a handler while the block lasts."""
    before = {ending: signal.signal(ending, handler) for ending in ENDINGS}
    try:
        yield
    finally:
        for ending, earlier in before.items():
            signal.signal(ending, earlier)


def tell(line: str) -> None:
    """A line on stdout, at once; a closed terminal is no reason to stop."""
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


GRACE_SECONDS = 10.0
POLL_SECONDS = 0.05

# What `ps` shows of each kind, to tell it from another program that was given the same number.
PROGRAMS = {
    "ephemeral": "prefect.server.api.server:create_app",
    "prefect": "prefect server start",
    "mlflow": "mlflow server",
    "serve": "multilogger.flows.reproduction.serve",
}


class ChildProcess:
    """A command in a process group of its own, ended when the block ends."""

    def __init__(
        self,
        store: Store,
        kind: str,
        command: Sequence[str],
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        ending: signal.Signals = signal.SIGTERM,
        grace: float | None = None,
    ) -> None:
        self.kind = kind
        self._ending = ending
        self._grace = grace
        self.log = log
        with deferring_endings(), log.open("w") if log else contextlib.nullcontext() as output:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT if log else None,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._lock_path = lock_path(store, kind, self.process.pid)
            self._lock = FileLock(self._lock_path)
            self._lock.acquire()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def check_alive(self) -> None:
        """Say that it ended, and where it says why, or that the disk is full."""
        if self.process.poll() is not None:
            if self._lacked_room():
                raise no_room(self._lock_path.parent.parent)
            where = f"; {self.log} says why" if self.log else ""
            raise BadInput(f"{self.kind} stopped with exit code {self.process.returncode}{where}")

    def _lacked_room(self) -> bool:
        """Whether it had no room to write: its log may have none either."""
        with contextlib.suppress(OSError):
            if self.log is not None and says_full(self.log.read_text(encoding="utf-8", errors="replace")):
                return True
        return is_full(self._lock_path.parent)

    def end(self) -> None:
        """Stop the process and everything that it started."""
        with deferring_endings():
            self.before_end()
            self._end_group()
            self._lock_path.unlink(missing_ok=True)
            self._lock.release()

    def before_end(self) -> None:
        """What a kind of process needs before its leader is told to end."""

    def _end_group(self) -> None:
        """The leader, which knows how to stop its children, first; then whatever is left of the group."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(self._ending)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self._grace or GRACE_SECONDS)
        _signal_group(self.process.pid, signal.SIGKILL)
        self.process.wait()


def lock_path(store: Store, kind: str, pid: int) -> Path:
    """The file whose lock the parent of a process holds."""
    return store.locks / f"server-{kind}-{pid}"


def stop_orphans(store: Store) -> None:
    """Stop what killed commands left running, and wait until it is gone."""
    stopped: list[int] = []
    for lock in store.locks.glob("server-*-*"):
        with probing(lock) as free:
            if not free:
                continue
            kind, _, number = lock.name.removeprefix("server-").rpartition("-")
            members = group_members(int(number))
            if kind in PROGRAMS and any(PROGRAMS[kind] in arguments for arguments in members.values()):
                stopped += members
            lock.unlink(missing_ok=True)
    terminate(stopped, GRACE_SECONDS)


def group_members(number: int) -> dict[int, str]:
    """The processes of a group, and the one with its number, by what `ps` shows of them."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,pgid=,args="], capture_output=True, text=True, check=False
    )
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return {int(row[0]): row[2] for row in rows if len(row) == 3 and str(number) in row[:2]}


def terminate(pids: Sequence[int], grace: float) -> None:
    """SIGTERM, and SIGKILL to those that are still there after the grace."""
    left = [pid for pid in pids if _signal(pid, signal.SIGTERM)]
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        left = [pid for pid in left if _signal(pid, 0)]
    for pid in left:
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> bool:
    """Send a signal; False if there is no such process."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says the latter of zombies
        os.killpg(group, number)
