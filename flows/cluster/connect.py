"""The way to a Dask cluster: that of an address, or one on this machine that ends with its block."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import distributed

from multilogger.components.errors import BadInput, first_line
from multilogger.flows.cluster.worker_set_up import PLUGIN, WorkerSetUp

ANSWER_SECONDS = 10
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Cluster:
    """An open cluster: a client of its scheduler, and how others find it."""

    client: Any
    address: str
    security: Any
    own: bool

    @property
    def workers(self) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of its workers, by their addresses."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])


@contextmanager
def open_cluster(address: str | None, workers: int) -> Iterator[Cluster]:
    """Connect to a scheduler; without an address start a cluster of so many processes of one thread."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it tells of every connection that ends
    try:
        with _local(workers) if address is None else _at(address) as cluster:
            yield cluster
    finally:
        logger.setLevel(level)


def set_up(cluster: Cluster, environment: dict[str, str]) -> None:
    """Have every worker, also one that comes later, work with the servers of this process."""
    cluster.client.register_plugin(WorkerSetUp(environment, cluster.own), name=PLUGIN)


@contextmanager
def _local(workers: int) -> Iterator[Cluster]:
    # Its keys are made now: without them everybody on this machine could have our workers run anything.
    started = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        memory_limit=0,
        security=True,
        silence_logs=logging.CRITICAL,
    )
    with started, distributed.Client(started, set_as_default=False) as client:
        yield Cluster(client, started.scheduler_address, started.security, own=True)


@contextmanager
def _at(address: str) -> Iterator[Cluster]:
    try:
        client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"no Dask scheduler answers at {address} ({first_line(error)[:150]}); start one with "
            "'dask scheduler', or leave --address out"
        ) from error
    with client:
        yield Cluster(client, address, client.security, own=False)
