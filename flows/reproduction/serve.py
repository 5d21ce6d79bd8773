"""`multilogger serve`: reproductions by the clock, in the foreground.

A process of its own, `python -m multilogger.flows.reproduction.serve SCHEDULE` with a `Schedule` in JSON,
registers the deployment and starts its runs when they are due.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from multilogger.components.errors import BadInput
from multilogger.components.names import check_name
from multilogger.flows.servers.child_process import (
    ChildProcess,
    group_members,
    stop_orphans,
    tell,
    terminate,
    until_stopped,
)
from multilogger.flows.servers.local_server import API_VARIABLE
from multilogger.flows.servers.session import running_server
from multilogger.tasks.engine.locks import FileLock, held_or
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

POLL_SECONDS = 0.2
LOOK_SECONDS = "5"  # how often Prefect's runner looks for runs that are due
RUN = "prefect.engine"
RUN_GRACE_SECONDS = 60.0  # at most: a run marks itself and the schedule pauses, on a busy machine slowly
NEXT_RUNS = 3
FLOW = "reproduce"
WANTED = {
    "name": "use letters, digits, '-', '_' and '.', a letter or digit first and last, 60 at most",
    "cron": "give minute hour day month weekday, such as '0 2 * * *'",
    "timezone": "give a name of the tz database, such as Europe/Berlin",
}


class Schedule(BaseModel):
    """A named deployment of the `reproduce` flow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    cron: str
    timezone: str
    parameters: dict[str, Any]

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if " " in name:
            raise ValueError(WANTED["name"])
        return check_name("schedule", name)

    @property
    def full_name(self) -> str:
        """As Prefect's command line spells it."""
        return f"{FLOW}/{self.name}"


def checked_schedule(name: str, cron: str, timezone: str, parameters: dict[str, Any]) -> Schedule:
    """A schedule that Prefect will accept."""
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron, timezone=timezone)
        return Schedule(name=name, cron=cron, timezone=timezone, parameters=parameters)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0])
        raise BadInput(f"bad --{option} {first['input']!r}: {WANTED[option]}") from error


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
        command = [sys.executable, "-m", "multilogger.flows.reproduction.serve", schedule.model_dump_json()]
        own = {API_VARIABLE: server, ROOT_VARIABLE: str(store.root)}
        environment = {"PREFECT_RUNNER_POLL_FREQUENCY": LOOK_SECONDS, **os.environ, **own}
        # SIGINT makes the runner pause its schedule; at SIGTERM it leaves without
        super().__init__(
            store, "serve", command, environment=environment, ending=signal.SIGINT, grace=RUN_GRACE_SECONDS
        )

    def before_end(self) -> None:
        """Let runs in progress mark themselves: the runner would kill them first."""
        members = group_members(self.process.pid)
        terminate([pid for pid, arguments in members.items() if RUN in arguments], RUN_GRACE_SECONDS)


def main() -> None:
    """Serve until SIGINT, which stops the runs in progress too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing to end while everything is imported: no traceback
    from prefect import serve

    schedule = Schedule.model_validate_json(sys.argv[1])
    deployment = to_deployment(schedule)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    deployment.apply()
    # A run that waits for its turn is offered again and again, with a line each time.
    logging.getLogger("prefect.runner.state_proposer").setLevel(logging.WARNING)
    describe(schedule)
    serve(deployment, print_starting_message=False)


def to_deployment(schedule: Schedule) -> "RunnerDeployment":
    """The deployment; a run that is due while another is in progress waits for it."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from multilogger.flows.reproduction.reproduce import reproduce

    made = reproduce.to_deployment(
        schedule.name,
        schedule=Cron(schedule.cron, timezone=schedule.timezone),
        parameters=schedule.parameters,
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE
        ),
        tags=["multilogger"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    return cast("RunnerDeployment", made)  # a coroutine only inside an event loop


def describe(schedule: Schedule) -> None:
    """What will run, when, and how to run it now."""
    from prefect.server.schemas.schedules import CronSchedule

    given = ", ".join(f"{name}={value}" for name, value in schedule.parameters.items() if value)
    dates = asyncio.run(CronSchedule(cron=schedule.cron, timezone=schedule.timezone).get_dates(NEXT_RUNS))
    tell(f"Serving    {schedule.full_name}: {given}")
    tell(f"Schedule   {schedule.cron} ({schedule.timezone}); one run at a time, others wait for it")
    tell(f"Next runs  {', '.join(date.strftime('%a %d %b %Y %H:%M %Z') for date in dates)}")
    tell("Run now    (in another terminal, with parameters of your own)")
    tell(f"           export {API_VARIABLE}={os.environ[API_VARIABLE]}")
    tell(f"           prefect deployment run '{schedule.full_name}' -p seeds=2")
    tell("Ctrl-C stops it, and the schedule pauses until it is served again")


if __name__ == "__main__":
    main()
