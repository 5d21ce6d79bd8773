"""Many pipelines: tables and figures, now or by the clock, and the runs side by side."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from multilogger.flows.cli.closing import from_here, how_much, where_to_look
from multilogger.flows.cli.options import (
    Dataset,
    Datasets,
    Methods,
    Mirror,
    Out,
    Presets,
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
    assignments: Set = None,
) -> None:
    """Reproduce tables and figures of the paper; runs only what is not finished, and writes a report."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.reproduction.parameters import check_plan, reproduce_parameters
        from multilogger.flows.servers.session import flow_session

        parameters = reproduce_parameters(
            target, datasets, methods, seeds, presets, mirror, out, assignments, workers
        )
        with flow_session(context.obj, partial(check_plan, parameters)) as terminal:
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
    assignments: Set = None,
) -> None:
    """Run a reproduction by the clock, on the Prefect server of 'multilogger up' or PREFECT_API_URL."""
    with one_line_errors(context.obj):
        from multilogger.flows.reproduction.parameters import (
            check_plan,
            from_any_folder,
            reproduce_parameters,
        )
        from multilogger.flows.reproduction.schedule import checked_schedule
        from multilogger.flows.reproduction.serve import serve_schedule
        from multilogger.tasks.engine.store import Store

        Store.current().open()  # Prefect makes its home there when it is imported
        parameters = reproduce_parameters(
            target, datasets, methods, seeds, presets, mirror, out, assignments, workers
        )
        check_plan(parameters)
        called = name or "-".join([target, *(datasets or [])])
        serve_schedule(checked_schedule(called, cron, timezone, from_any_folder(parameters)))


def compare(
    context: typer.Context,
    dataset: Dataset = "digits",
    metric: Annotated[str, typer.Option(help="What to sort by: exp, greedy, validation_risk, ...")] = "exp",
    methods: Annotated[
        list[str] | None, typer.Option("--methods", "--method", help="Only these methods. Repeatable.")
    ] = None,
) -> None:
    """Compare the methods of a dataset, from MLflow's finished runs."""
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.recorded_cells import existing_runs
        from multilogger.flows.terminal.terminal import Terminal

        tracker = existing_runs()
        from multilogger.flows.pipelines.compare import compare as comparison

        shown, terminal = comparison(tracker, dataset, metric, methods or ()), Terminal()
        terminal.table(shown.title, shown.rows)
        if shown.elsewhere:
            terminal.say(f"Runs of other datasets: {', '.join(shown.elsewhere)}; name one with --dataset")
