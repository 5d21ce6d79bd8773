"""Many pipelines: tables and figures, now or by the clock."""

import inspect
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.cli.options import (
    Address,
    Datasets,
    Methods,
    Mirror,
    Out,
    Presets,
    RunnerName,
    Seeds,
    Set,
    Target,
    Workers,
)
from multilogger.flows.terminal.errors import INCOMPLETE, one_line_errors

Asked = Callable[[], dict[str, Any]]
"""Gives the parameters of the flow, or says what is wrong with the options."""


def _parameters(
    target: Target = "table2",
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 10,
    presets: Presets = None,
    mirror: Mirror = None,
    out: Out = Path("reproduction"),
    workers: Workers = 2,
    runner: RunnerName = "process",
    address: Address = None,
    assignments: Set = None,
) -> dict[str, Any]:
    from multilogger.flows.reproduction.scope import reproduce_parameters

    running = RunnerChoice(workers, runner, address)
    return reproduce_parameters(target, datasets, methods, seeds, presets, mirror, out, assignments, running)


def _takes_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_parameters`; it gets what comes of them as the argument `asked`."""
    shared = inspect.signature(_parameters).parameters

    @wraps(command)
    def with_options(**given: Any) -> None:
        command(asked=partial(_parameters, **{name: given.pop(name) for name in shared}), **given)

    own = [one for one in inspect.signature(command).parameters.values() if one.name != "asked"]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared.values())]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


@_takes_parameters
def reproduce(context: typer.Context, *, asked: Asked) -> None:
    """Reproduce tables and figures of the paper; runs only what is not finished, and writes a report."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.servers.session import flow_session, from_here, how_much, where_to_look

        parameters: dict[str, Any] = asked()

        def check() -> None:
            from multilogger.flows.reproduction.plan import check_plan

            check_plan(parameters)

        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.reproduction.reproduce import reproduce as flow

            done = flow(**parameters)
        from multilogger.flows.reproduction.tables import reproduction_notes, reproduction_tables

        for title, rows in reproduction_tables(done.reproduction).items():
            terminal.table(title, rows)
        for note in reproduction_notes(done.reproduction):
            typer.echo(f"{note}\n")
        how_much(started, "cell", done.computed, done.reused)
        typer.echo(f"Report      {from_here(done.out / 'report.html')}")
        where_to_look(done.run_id)
        if done.failures:
            terminal.say(
                f"multilogger: {len(done.failures)} of {len(done.reproduction.cells)} cells failed; "
                "the report says why, and the same command runs those again"
            )
            raise typer.Exit(INCOMPLETE)


@_takes_parameters
def serve(
    context: typer.Context,
    cron: Annotated[str, typer.Option(help="When to run: minute hour day month weekday.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option(help="Of the cron line, e.g. Europe/Berlin.")] = "UTC",
    name: Annotated[str | None, typer.Option(help="Default: the target and the datasets.")] = None,
    *,
    asked: Asked,
) -> None:
    """Run a reproduction by the clock, on the Prefect server of 'multilogger up' or PREFECT_API_URL."""
    with one_line_errors(context.obj):
        from multilogger.flows.reproduction.plan import check_plan
        from multilogger.flows.reproduction.scope import from_any_folder
        from multilogger.flows.reproduction.serve import checked_schedule, serve_schedule
        from multilogger.tasks.engine.store import Store

        Store.current().open()  # Prefect makes its home there when it is imported
        parameters: dict[str, Any] = asked()
        check_plan(parameters)
        called = name or "-".join([parameters["target"], *(parameters["datasets"] or [])])
        serve_schedule(checked_schedule(called, cron, timezone, from_any_folder(parameters)))
