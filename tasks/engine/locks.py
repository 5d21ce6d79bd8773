"""Locks that die with their process: `flock` on a file of the store.

Prefect's own file locks outlive a SIGKILL; the kernel drops these. Local file systems only.
"""

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.05
LOOK_SECONDS = 1.0


class FileLock:
    """An exclusive lock on one file, held by one open descriptor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self, create: bool = True) -> bool:
        """Take the lock if it is free; without `create`, a lock that has no file counts as taken."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock; False when `timeout` seconds have passed."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.try_acquire():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def release(self) -> None:
        """Give the lock back. The file stays: removing it would race with a waiter."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def held_or(complaint: Exception, lock: FileLock) -> Iterator[None]:
    """Hold the lock during the block, or raise; others may be looking at it for an instant."""
    if not lock.acquire(LOOK_SECONDS):
        raise complaint
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Does any process, this one included, hold the lock?"""
    with probing(path) as free:
        return not free


@contextmanager
def probing(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lock; if so, nobody can take it before the block ends."""
    probe = FileLock(path)
    try:
        yield probe.try_acquire(create=False)
    finally:
        probe.release()


class StageLocks:
    """Prefect's lock manager protocol on `FileLock`: one execution of a key at a time, across processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, tuple[str, FileLock]] = {}
        self._guard = threading.Lock()

    def __reduce__(self) -> tuple[type["StageLocks"], tuple[Path]]:
        """Copies, as made for worker processes, hold nothing."""
        return (StageLocks, (self._folder,))

    def path(self, key: str) -> Path:
        """The file that stands for a key."""
        return self._folder / Path(key).name

    def acquire_lock(
        self,
        key: str,
        holder: str,
        acquire_timeout: float | None = None,
        hold_timeout: float | None = None,  # not needed: a dead holder frees the lock
    ) -> bool:
        if self.is_lock_holder(key, holder):
            return True
        lock = FileLock(self.path(key))
        if not lock.acquire(acquire_timeout):
            return False
        with self._guard:
            self._held[key] = (holder, lock)
        return True

    async def aacquire_lock(
        self, key: str, holder: str, acquire_timeout: float | None = None, hold_timeout: float | None = None
    ) -> bool:
        return await asyncio.to_thread(self.acquire_lock, key, holder, acquire_timeout, hold_timeout)

    def release_lock(self, key: str, holder: str) -> None:
        with self._guard:
            owner, lock = self._held.get(key, (holder, None))
            if lock is None:
                return  # a task that committed by itself is let go once more when the task around it commits
            if owner != holder:
                raise ValueError(f"{holder} does not hold the lock of {key}")
            del self._held[key]
        lock.release()

    def is_locked(self, key: str) -> bool:
        return is_held(self.path(key))

    def is_lock_holder(self, key: str, holder: str) -> bool:
        with self._guard:
            return key in self._held and self._held[key][0] == holder

    def wait_for_lock(self, key: str, timeout: float | None = None) -> bool:
        lock = FileLock(self.path(key))
        free = lock.acquire(timeout)
        lock.release()
        return free

    async def await_for_lock(self, key: str, timeout: float | None = None) -> bool:
        return await asyncio.to_thread(self.wait_for_lock, key, timeout)
