"""`multilogger serve`: reproductions by the clock, in the foreground."""

import os
import signal
import sys
import time

from multilogger.components.errors import BadInput
from multilogger.flows.reproduction.schedule import Schedule
from multilogger.flows.servers.child_process import (
    ChildProcess,
    group_members,
    stop_orphans,
    tell,
    terminate,
    until_stopped,
)
from multilogger.flows.servers.running_servers import API_VARIABLE
from multilogger.flows.servers.session import running_server
from multilogger.tasks.engine.locks import FileLock, held_or
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

POLL_SECONDS = 0.2
LOOK_SECONDS = "5"  # how often Prefect's runner looks for runs that are due
RUN = "prefect.engine"
RUN_GRACE_SECONDS = 30.0


def serve_schedule(schedule: Schedule) -> None:
    """Register the deployment and start its runs when they are due, until somebody stops it."""
    store = Store.current().open()
    server = running_server(store)
    if server is None:
        raise BadInput(
            "a schedule needs a Prefect server that stays: start one with 'multilogger up' in another "
            f"terminal, or name yours with {API_VARIABLE}"
        )
    taken = BadInput(f"{schedule.full_name} is being served already; choose another --name")
    with until_stopped(), held_or(taken, FileLock(store.locks / f"deployment-{schedule.name}")):
        stop_orphans(store)
        tell(f"Registering {schedule.full_name} at {server}, this takes some seconds")
        with RunnerProcess(store, schedule, server) as runner:
            while True:
                time.sleep(POLL_SECONDS)
                runner.check_alive()


class RunnerProcess(ChildProcess):
    """Prefect's runner and the runs that it started, which must not outlive it."""

    def __init__(self, store: Store, schedule: Schedule, server: str) -> None:
        command = [
            sys.executable,
            "-m",
            "multilogger.flows.reproduction.deployment_runner",
            schedule.model_dump_json(),
        ]
        own = {API_VARIABLE: server, ROOT_VARIABLE: str(store.root)}
        environment = {"PREFECT_RUNNER_POLL_FREQUENCY": LOOK_SECONDS, **os.environ, **own}
        # SIGINT makes the runner pause its schedule; at SIGTERM it leaves without
        super().__init__(store, "serve", command, environment=environment, ending=signal.SIGINT)

    def before_end(self) -> None:
        """Let runs in progress mark themselves: the runner would kill them first."""
        members = group_members(self.process.pid)
        terminate([pid for pid, arguments in members.items() if RUN in arguments], RUN_GRACE_SECONDS)
