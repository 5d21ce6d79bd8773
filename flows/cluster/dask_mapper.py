"""Parts of a log on a Dask cluster: what comes of them is handed over in their order, as processes do."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.log.parts import AHEAD, Found, Item, Mapper
from multilogger.flows.cluster.connect import open_cluster, set_up
from multilogger.flows.cluster.worker_set_up import environment_to_pass


@contextmanager
def dask_mapper(address: str | None, workers: int) -> Iterator[Mapper]:
    """The workers of a scheduler; without an address so many processes of this machine."""
    with open_cluster(address, workers) as cluster:
        set_up(cluster, environment_to_pass(None))
        client, count = cluster.client, len(cluster.workers)
        if not count:
            remedy = "start some with 'multilogger worker --address ...'"
            raise BadInput(f"the scheduler at {address} has no workers; {remedy}")

        def spread(work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
            known = client.scatter(work, broadcast=True, hash=False)  # a policy goes to each worker once
            waiting: deque[Any] = deque()
            for item in items:
                waiting.append(client.submit(_call, known, item, pure=False))
                if len(waiting) > AHEAD * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

        yield spread


def _call(work: Callable[[Item], Found], item: Item) -> Found:
    return work(item)
