"""`multilogger doctor`: is everything in place, here and on the workers?"""

import os
from collections.abc import Iterator

from multilogger.components.errors import BadInput
from multilogger.flows.cluster.diagnoses import Diagnosis, servers, workers
from multilogger.flows.cluster.facts import facts
from multilogger.flows.servers.local_server import API_VARIABLE, running_servers
from multilogger.tasks.engine.store import Store


def diagnose(address: str | None) -> Iterator[Diagnosis]:
    """One finding after the other; without an address of this machine alone."""
    store = Store.current()
    up = running_servers(store)
    prefect = os.environ.get(API_VARIABLE) or (up.prefect if up is not None else None)
    here = facts(prefect)
    own = servers(here, prefect, store)
    yield from own
    if address is not None and not any(finding.wrong for finding in own):
        yield from _cluster(address, prefect, store)


def _cluster(address: str, prefect: str | None, store: Store) -> Iterator[Diagnosis]:
    from multilogger.flows.cluster.connect import open_cluster, set_up
    from multilogger.flows.cluster.probing import ask, round_trips
    from multilogger.flows.cluster.worker_set_up import environment_to_pass

    try:
        with open_cluster(address, workers=1) as cluster:
            set_up(cluster, environment_to_pass(prefect))
            found = workers(ask(cluster, prefect), facts(prefect), prefect, store)
            yield from found
            if not any(finding.wrong for finding in found):
                yield from round_trips(cluster)
    except BadInput as error:
        yield Diagnosis("scheduler", str(error), wrong=True)
