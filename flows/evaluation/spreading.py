"""Who reads the parts of a long log: processes of this machine, or the workers of a Dask cluster."""

from functools import partial

from multilogger.components.log.parts import PROCESSES, Spread


def spread_by(runner: str, address: str | None) -> Spread:
    """By the name of a runner; a cluster without an address is one of this machine."""
    if runner == "process":
        return PROCESSES
    from multilogger.flows.cluster.dask_mapper import dask_mapper

    return Spread(partial(dask_mapper, address), shares_disk=address is None)
