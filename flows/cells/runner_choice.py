"""How cells are run: by which runner, how many at a time, on which cluster.

Nothing of Prefect or Dask is loaded here: a wrong choice is said before anything starts.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from multilogger.components.errors import BadInput, short

DEFAULT_RUNNER = "process"
DEFAULT_WORKERS = 2
MOST_SEEDS = 1000  # of a comparison, whose cells are all made before the first is run


@dataclass(frozen=True)
class RunnerModule:
    """A module with a function `run_round`, and the Python module that its extra, of its name, brings."""

    module: str
    needs: str | None = None


RUNNERS = {
    "process": RunnerModule("multilogger.flows.cells.in_processes"),
    "dask": RunnerModule("multilogger.flows.cells.on_dask", needs="prefect_dask"),
}


def check_seeds(seeds: int) -> None:
    """Refuse a number of seeds that is none, or that nobody would wait for."""
    if not 1 <= seeds <= MOST_SEEDS:
        raise BadInput(f"--seeds must be a number from 1 to {MOST_SEEDS:,}, got {short(seeds)}")


@dataclass(frozen=True)
class RunnerChoice:
    """What a person chose; without an address Dask has a cluster of its own on this machine."""

    workers: int = DEFAULT_WORKERS
    runner: str = DEFAULT_RUNNER
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise BadInput(f"--workers must be at least 1, got {self.workers}")
        if self.runner not in RUNNERS:
            raise BadInput(f"unknown runner {self.runner!r}; choose one of {', '.join(RUNNERS)}")
        if self.address is not None and self.runner != "dask":
            raise BadInput("--address is that of a Dask scheduler; give --runner dask with it")
        if self.address is not None and "://" not in self.address:
            raise BadInput(f"--address is tcp://HOST:PORT or tls://HOST:PORT, got {self.address!r}")
        needs = RUNNERS[self.runner].needs
        if needs is not None and find_spec(needs) is None:
            raise BadInput(
                f"--runner {self.runner} needs the Python module {needs}, which is missing: "
                f"pip install 'multilogger[{self.runner}]'"
            )

    def run_round(self) -> Any:
        """The function of the runner that runs cells once; see `in_processes.run_round`."""
        return import_module(RUNNERS[self.runner].module).run_round
