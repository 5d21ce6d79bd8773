"""The process behind `multilogger serve`: registers a deployment and starts its runs when they are due.

Called as `python -m multilogger.flows.reproduction.deployment_runner SCHEDULE`, with a `Schedule` in JSON.
"""

import asyncio
import logging
import os
import signal
import sys
from typing import cast

from prefect import serve
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron
from prefect.server.schemas.schedules import CronSchedule
from prefect.types.entrypoint import EntrypointType

from multilogger.flows.reproduction.reproduce import reproduce
from multilogger.flows.reproduction.schedule import Schedule
from multilogger.flows.servers.child_process import tell
from multilogger.flows.servers.running_servers import API_VARIABLE

signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing to end while everything is imported: no traceback


NEXT_RUNS = 3


def main() -> None:
    """Serve until SIGINT, which stops the runs in progress too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    schedule = Schedule.model_validate_json(sys.argv[1])
    deployment = to_deployment(schedule)
    deployment.apply()
    # A run that waits for its turn is offered again and again, with a line each time.
    logging.getLogger("prefect.runner.state_proposer").setLevel(logging.WARNING)
    describe(schedule)
    serve(deployment, print_starting_message=False)


def to_deployment(schedule: Schedule) -> RunnerDeployment:
    """The deployment; a run that is due while another is in progress waits for it."""
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
    return cast(RunnerDeployment, made)  # a coroutine only inside an event loop


def describe(schedule: Schedule) -> None:
    """What will run, when, and how to run it now."""
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
