"""Many pipelines: tables and figures, now or by the clock."""

import time
from pathlib import Path
from typing import Annotated

import typer

from multilogger.flows.cells.running import Running
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


def reproduce(
    context: typer.Context,
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
) -> None:
    """Reproduce tables and figures of the paper; runs only what is not finished, and writes a report."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.reproduction.scope import reproduce_parameters
        from multilogger.flows.servers.session import flow_session, from_here, how_much, where_to_look

        parameters = reproduce_parameters(
            target,
            datasets,
            methods,
            seeds,
            presets,
            mirror,
            out,
            assignments,
            Running(workers, runner, address),
        )

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


def serve(
    context: typer.Context,
    target: Target = "table2",
    cron: Annotated[str, typer.Option(help="When to run: minute hour day month weekday.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option(help="Of the cron line, e.g. Europe/Berlin.")] = "UTC",
    name: Annotated[str | None, typer.Option(help="Default: the target and the datasets.")] = None,
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
) -> None:
    """Run a reproduction by the clock, on the Prefect server of 'multilogger up' or PREFECT_API_URL."""
    with one_line_errors(context.obj):
        from multilogger.flows.reproduction.plan import check_plan
        from multilogger.flows.reproduction.scope import from_any_folder, reproduce_parameters
        from multilogger.flows.reproduction.serve import checked_schedule, serve_schedule
        from multilogger.tasks.engine.store import Store

        Store.current().open()  # Prefect makes its home there when it is imported
        parameters = reproduce_parameters(
            target,
            datasets,
            methods,
            seeds,
            presets,
            mirror,
            out,
            assignments,
            Running(workers, runner, address),
        )
        check_plan(parameters)
        called = name or "-".join([target, *(datasets or [])])
        serve_schedule(checked_schedule(called, cron, timezone, from_any_folder(parameters)))
