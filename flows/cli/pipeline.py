"""One pipeline: logs, a policy from them, or one stage again."""

import time
from functools import partial
from typing import Annotated

import typer

from multilogger.components.errors import BadInput
from multilogger.flows.cli.data_options import DATA_OPTIONS, ChosenData, GivenData, takes_data
from multilogger.flows.cli.options import Method, Preset, Seed
from multilogger.flows.terminal.errors import one_line_errors

WHOLE_PIPELINE = ("method", "preset", "seed", *DATA_OPTIONS)
"""What `--run` says of a stage, and no other option may."""


@takes_data
def prepare(
    context: typer.Context,
    seed: Seed = 0,
    refresh: Annotated[bool, typer.Option(help="Compute every stage again.")] = False,
    *,
    data: GivenData,
) -> None:
    """Make bandit logs: download, reduce, train-loggers, replay."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.settings import pipeline_settings
        from multilogger.flows.pipelines.wiring import PREPARE
        from multilogger.flows.servers.session import flow_session, how_many_stages, where_to_look

        chosen = data.chosen(stages=PREPARE)
        _refuse_logs(chosen)
        dataset, mirror, settings = chosen.dataset, chosen.mirror, chosen.settings
        check = partial(pipeline_settings, PREPARE, dataset, seed, mirror, settings)
        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.pipelines.prepare import prepare as flow
            from multilogger.flows.pipelines.summary import log_rows, losses_title, policy_rows, stage_rows

            done = flow(dataset, seed, mirror, settings, list(PREPARE) if refresh else [])
        terminal.table("Stages", stage_rows(done.outcomes))
        terminal.table(losses_title("Policies on test", done.outcomes), policy_rows(done.outcomes))
        terminal.table("Bandit log", log_rows(done.outcomes["replay"]))
        how_many_stages(started, done.outcomes.values())
        where_to_look(done.run_id)


@takes_data
def learn(
    context: typer.Context,
    method: Method = "auto",
    preset: Preset = "auto",
    seed: Seed = 0,
    refresh: Annotated[bool, typer.Option(help="Learn and evaluate again.")] = False,
    *,
    data: GivenData,
) -> None:
    """Learn a policy from bandit logs and evaluate it; makes the logs first if need be."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.cells import Cell
        from multilogger.flows.pipelines.settings import check_read, settled
        from multilogger.flows.servers.session import flow_session, how_many_stages, where_to_look

        chosen = data.chosen("learn")
        dataset, mirror, typed = chosen.dataset, chosen.mirror, chosen.settings
        cell = Cell(dataset=dataset, method=method, seed=seed, preset=preset, mirror=mirror, settings=typed)
        with flow_session(context.obj, lambda: check_read(cell.chosen(), typed)) as terminal:
            from multilogger.flows.pipelines.learn import learn as flow
            from multilogger.flows.pipelines.summary import result_lines, result_tables, stage_rows

            stages, known = list(cell.chosen()), settled(typed, cell.chosen())
            again = stages[stages.index("learn") :] if refresh else []
            done = flow(dataset, method, seed, preset, mirror, known, again)
        terminal.table("Stages", stage_rows(done.outcomes))
        for title, rows in result_tables(done.outcomes).items():
            terminal.table(title, rows)
        for line in result_lines(done.outcomes):
            terminal.say(line)
        how_many_stages(started, done.outcomes.values())
        where_to_look(done.run_id)


@takes_data
def stage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A stage; 'multilogger stages' lists them.")],
    method: Method = "auto",
    preset: Preset = "auto",
    seed: Seed = 0,
    refresh: Annotated[bool, typer.Option(help="Compute it again even if it is cached.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", help="A finished MLflow run: its pipeline, but for --set.")
    ] = None,
    *,
    data: GivenData,
) -> None:
    """Run one stage alone, from inputs that are in the cache or in MLflow."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.settings import check_read, pipeline_settings
        from multilogger.flows.pipelines.wiring import stages_with
        from multilogger.flows.servers.session import flow_session, how_many_stages, where_to_look
        from multilogger.tasks.registry import STAGES

        if name not in STAGES:
            raise BadInput(f"unknown stage {name!r}; choose one of {', '.join(STAGES)}")
        if run is not None:
            _stage_of_run(context, name, run, data.assignments, refresh, started)
            return
        chosen = data.chosen(name)
        dataset, mirror, typed = chosen.dataset, chosen.mirror, chosen.settings
        stages, settings = stages_with(name, typed), typed
        if "learn" in stages:
            settings = {"learn.method": method, "learn.preset": preset} | settings

        def check() -> None:
            check_read(pipeline_settings(stages, dataset, seed, mirror, settings), typed)

        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.pipelines.rerun import rerun_stage
            from multilogger.flows.pipelines.summary import stage_rows

            done = rerun_stage(name, dataset, seed, mirror, settings, refresh)
        if done.inputs:
            terminal.table("Inputs", stage_rows(done.inputs))
        terminal.table("Result", stage_rows({name: done.outcome}))
        how_many_stages(started, done.outcomes)
        where_to_look(done.outcome.artifact.run_id)


def _refuse_logs(data: ChosenData) -> None:
    """Loggers are made and replayed from labelled data; a log has been logged already."""
    if any(name.startswith("import-log.") for name in data.settings):
        raise BadInput(
            f"'prepare' makes logs from labelled data, and {data.dataset} is a log; use 'learn' or 'study'"
        )


def _stage_of_run(
    context: typer.Context, stage: str, run_id: str, assignments: list[str], refresh: bool, started: float
) -> None:
    """One stage of a finished run again: check everything, run it, and show it beside what was."""
    _refuse_other_options(context)
    from multilogger.flows.pipelines.recorded_cells import existing_runs
    from multilogger.flows.pipelines.settings import parse_assignments
    from multilogger.flows.servers.session import as_typed, flow_session, how_many_stages, where_to_look

    tracker, changes = existing_runs(), parse_assignments(assignments, stage)
    from multilogger.flows.pipelines.template import nearest_with, read_template

    template = read_template(tracker, run_id)
    template.chosen(stage, changes)  # said before anything starts
    with flow_session(context.obj) as terminal:
        from multilogger.flows.pipelines.rerun import differences, rerun_from
        from multilogger.flows.pipelines.summary import metric_rows, stage_rows

        done = rerun_from(stage, run_id, changes, refresh)
    changed, earlier = differences(template, stage, changes), nearest_with(tracker, template, stage)
    typer.echo(f"Template    {template.name} ({template.run_id})")
    news = [f"{name} {then} -> {now}" for name, (then, now) in changed.items()]
    typer.echo(f"Changed     {', '.join(news) or 'nothing'}")
    if earlier is not None and earlier is not template:
        typer.echo(f"Compared    {earlier.name} ({earlier.run_id}); the template has not run {stage}")
    if done.inputs:
        terminal.table("Inputs", stage_rows(done.inputs))
    terminal.table("Result", stage_rows({stage: done.outcome}))
    then = tracker.metrics(earlier.stage_runs[stage]) if earlier else {}
    now = tracker.metrics(done.outcome.artifact.run_id)
    if rows := metric_rows(stage, then, now, "template" if earlier is template else "earlier run"):
        terminal.table("Metrics", rows)
    how_many_stages(started, done.outcomes)
    where_to_look(done.run_id)
    if stage == "learn":
        typer.echo(f"Evaluate it {as_typed()} stage evaluate --run {done.run_id}")


def _refuse_other_options(context: typer.Context) -> None:
    sources = {name: context.get_parameter_source(name) for name in WHOLE_PIPELINE}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise BadInput(
            f"--run names the whole pipeline, so --{given[0]} cannot be given with it; "
            "leave one of them out, or change settings of the stage with --set"
        )
