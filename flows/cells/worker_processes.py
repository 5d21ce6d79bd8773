"""Worker processes for cells: one thread each, quiet, and never outliving the process that started them."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOOK_SECONDS = 1.0
UNWIND_SECONDS = 2.0
GRACE_SECONDS = 4.0
TERMINATED = 128 + signal.SIGTERM
QUIET_TRACKER = "ignore::UserWarning:multiprocessing.resource_tracker"  # of semaphores of ended workers

_leaving = threading.Event()


def process_pool(workers: int) -> TaskRunner[Any]:
    """Prefect's process pool, with workers that behave."""
    return ProcessPoolTaskRunner(max_workers=workers, initializer=start_worker, initargs=(os.getpid(),))


def start_worker(parent: int) -> None:
    """Called once in every new worker.

    Ctrl-C reaches a whole terminal; a worker leaves it to its parent, which then terminates the worker.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _unwind)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


@contextmanager
def worker_surroundings() -> Iterator[str]:
    """Processes started in this block use this process's Prefect server, and one thread each.

    Without the first, every worker would start an ephemeral server of its own; without the second, two
    learners on two cores would fight. Gives the address of the server.
    """
    inherited = {**dict.fromkeys(THREAD_VARIABLES, "1"), "PYTHONWARNINGS": QUIET_TRACKER}
    before = {name: os.environ.get(name) for name in inherited}
    os.environ.update(inherited)
    with get_client(sync_client=True) as client:
        server = str(client.api_url)
    try:
        with temporary_settings({PREFECT_API_URL: server}):
            yield server
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def workers_end_with_block() -> Iterator[None]:
    """If the block is left by an exception, its worker processes stop at once: their runs are marked."""
    try:
        yield
    except BaseException:
        workers = multiprocessing.active_children()
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for worker in workers:
            worker.join(max(0.1, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()
        raise


def check_not_leaving() -> None:
    """A worker that was told to end takes no new cell, though its pool hands it the next one."""
    if _leaving.is_set():
        raise SystemExit(TERMINATED)


def _unwind(_signal: int, _frame: Any) -> None:
    """End as an exception does, so that open runs are marked and temporary files removed; then leave.

    Once: a second signal would break the unwinding of the first.
    """
    if _leaving.is_set():
        return
    _leaving.set()
    leave = threading.Timer(UNWIND_SECONDS, os._exit, (TERMINATED,))
    leave.daemon = True
    leave.start()
    raise SystemExit(TERMINATED)


def _leave_with(parent: int) -> None:
    """A parent that was killed cannot stop its workers; they see that they were adopted, and leave."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)
