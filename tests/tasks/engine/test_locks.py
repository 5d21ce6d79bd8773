import multiprocessing
import os
import pickle
import signal
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from multilogger.tasks.engine.locks import FileLock, StageLocks, is_held


def hold(folder: Path, held: Event) -> None:
    StageLocks(folder).acquire_lock("key", "other process")
    held.set()
    time.sleep(60)


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    other = context.Process(target=hold, args=(tmp_path, held))
    other.start()
    assert held.wait(300)
    locks = StageLocks(tmp_path)
    assert locks.is_locked("key")
    assert not locks.acquire_lock("key", "me", acquire_timeout=0.1)
    assert other.pid is not None
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    assert locks.acquire_lock("key", "me", acquire_timeout=100)


def test_one_holder_at_a_time_in_one_process(tmp_path: Path) -> None:
    locks = StageLocks(tmp_path)
    running: list[int] = []
    most: list[int] = []

    def work(name: str) -> None:
        locks.acquire_lock("key", name)
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        locks.release_lock("key", name)

    threads = [threading.Thread(target=work, args=(str(i),)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5
    assert not locks.is_locked("key")


def test_the_holder_may_ask_again_and_only_it_may_release(tmp_path: Path) -> None:
    locks = StageLocks(tmp_path)
    assert locks.acquire_lock("key", "me")
    assert locks.acquire_lock("key", "me", acquire_timeout=0)
    assert locks.is_lock_holder("key", "me")
    with pytest.raises(ValueError, match="you does not hold the lock of key"):
        locks.release_lock("key", "you")
    locks.release_lock("key", "me")
    assert not locks.is_locked("key")
    locks.release_lock("key", "me")  # as Prefect does when the task around a committed one commits
    assert locks.wait_for_lock("key", timeout=0)


def test_a_copy_for_a_worker_process_holds_nothing(tmp_path: Path) -> None:
    locks = StageLocks(tmp_path)
    locks.acquire_lock("key", "me")
    copy: StageLocks = pickle.loads(pickle.dumps(locks))
    assert not copy.is_lock_holder("key", "me")
    assert copy.is_locked("key")


def test_is_held_does_not_take_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with FileLock(path):
        assert is_held(path)
    assert not is_held(path)
