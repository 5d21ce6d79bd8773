"""One pipeline: logs, a policy from them, or one stage again."""

import time
from functools import partial
from typing import Annotated

import typer

from multilogger.flows.cli.closing import as_typed, how_many_stages, where_to_look
from multilogger.flows.cli.options import (
    Dataset,
    Features,
    Labels,
    Method,
    Mirror,
    Preset,
    Seed,
    Set,
    Test,
    Train,
    own_files,
)
from multilogger.flows.terminal.errors import one_line_errors


def prepare(
    context: typer.Context,
    dataset: Dataset = "digits",
    seed: Seed = 0,
    mirror: Mirror = None,
    train: Train = None,
    test: Test = None,
    features: Features = None,
    labels: Labels = None,
    assignments: Set = None,
    refresh: Annotated[bool, typer.Option(help="Compute every stage again.")] = False,
) -> None:
    """Make bandit logs: download, reduce, train-loggers, replay."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.pipeline import PREPARE
        from multilogger.flows.pipelines.settings import parse_assignments, pipeline_settings
        from multilogger.flows.servers.session import flow_session

        settings = parse_assignments(assignments or [], stages=PREPARE) | own_files(
            train, test, features, labels
        )
        check = partial(pipeline_settings, PREPARE, dataset, seed, mirror, settings)
        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.pipelines.prepare import prepare as flow
            from multilogger.flows.pipelines.summary import log_rows, policy_rows, stage_rows

            done = flow(dataset, seed, mirror, settings, list(PREPARE) if refresh else [])
        terminal.table("Stages", stage_rows(done.outcomes))
        terminal.table(
            "Policies on test: expected and greedy loss", policy_rows(done.outcomes["train-loggers"])
        )
        terminal.table("Bandit log", log_rows(done.outcomes["replay"]))
        how_many_stages(started, done.outcomes.values())
        where_to_look(done.run_id)


def learn(
    context: typer.Context,
    dataset: Dataset = "digits",
    method: Method = "weighted-reg",
    preset: Preset = "tuned",
    seed: Seed = 0,
    mirror: Mirror = None,
    train: Train = None,
    test: Test = None,
    features: Features = None,
    labels: Labels = None,
    assignments: Set = None,
    refresh: Annotated[bool, typer.Option(help="Learn and evaluate again.")] = False,
) -> None:
    """Learn a policy from bandit logs and evaluate it; makes the logs first if need be."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.pipelines.pipeline import LEARN, PREPARE
        from multilogger.flows.pipelines.settings import check_read, parse_assignments, pipeline_settings
        from multilogger.flows.servers.session import flow_session

        settings = parse_assignments(assignments or [], "learn") | own_files(train, test, features, labels)
        choices = {"learn.method": method, "learn.preset": preset} | settings

        def check() -> None:
            check_read(pipeline_settings(LEARN, dataset, seed, mirror, choices), settings)

        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.pipelines.learn import learn as flow
            from multilogger.flows.pipelines.summary import (
                estimate_rows,
                loss_rows,
                stage_rows,
                weak_estimates,
            )

            again = [name for name in LEARN if name not in PREPARE] if refresh else []
            done = flow(dataset, method, seed, preset, mirror, settings, again)
        terminal.table("Stages", stage_rows(done.outcomes))
        terminal.table("Test: expected and greedy loss", loss_rows(done.outcomes))
        terminal.table("Validation rows: estimated risk", estimate_rows(done.outcomes))
        if weak := weak_estimates(done.outcomes):
            terminal.say(weak)
        how_many_stages(started, done.outcomes.values())
        where_to_look(done.run_id)


def stage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A stage; 'multilogger stages' lists them.")],
    dataset: Dataset = "digits",
    method: Method = "weighted-reg",
    preset: Preset = "tuned",
    seed: Seed = 0,
    mirror: Mirror = None,
    train: Train = None,
    test: Test = None,
    features: Features = None,
    labels: Labels = None,
    assignments: Set = None,
    refresh: Annotated[bool, typer.Option(help="Compute it again even if it is cached.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", help="A finished MLflow run: its pipeline, but for --set.")
    ] = None,
) -> None:
    """Run one stage alone, from inputs that are in the cache or in MLflow."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.components.errors import BadInput
        from multilogger.flows.pipelines.pipeline import LEARN, PREPARE
        from multilogger.flows.pipelines.settings import check_read, parse_assignments, pipeline_settings
        from multilogger.flows.servers.session import flow_session
        from multilogger.tasks.registry import STAGES

        if name not in STAGES:
            raise BadInput(f"unknown stage {name!r}; choose one of {', '.join(STAGES)}")
        if run is not None:
            from multilogger.flows.pipelines.rerun_report import rerun_and_report

            done = rerun_and_report(context, name, run, assignments or [], refresh)
            how_many_stages(started, done.outcomes)
            where_to_look(done.run_id)
            if name == "learn":
                typer.echo(f"Evaluate it {as_typed()} stage evaluate --run {done.run_id}")
            return
        typed = parse_assignments(assignments or [], name) | own_files(train, test, features, labels)
        settings = typed
        if name not in PREPARE:
            settings = {"learn.method": method, "learn.preset": preset} | settings
        stages = PREPARE if name in PREPARE else LEARN

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
