"""The command line. Heavy imports stand inside the commands: `multilogger --help` must be instant."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.flows.errors import INCOMPLETE, one_line_errors

app = typer.Typer(
    name="multilogger",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OWN_FILES = "Your own files"
Dataset = Annotated[str, typer.Option(help="Registered dataset, or a name for your own files.")]
Seed = Annotated[int, typer.Option(min=0, help="Drives the loggers' sample, the replay and the split.")]
Mirror = Annotated[
    str | None,
    typer.Option(envvar="MULTILOGGER_MIRROR", help="Folder or URL with LibSVM's layout. Default: LibSVM."),
]
Train = Annotated[Path | None, typer.Option(help="Multi-label svmlight file.", rich_help_panel=OWN_FILES)]
Test = Annotated[Path | None, typer.Option(help="Multi-label svmlight file.", rich_help_panel=OWN_FILES)]
Features = Annotated[int | None, typer.Option(help="Number of features.", rich_help_panel=OWN_FILES)]
Labels = Annotated[int | None, typer.Option(help="Number of labels.", rich_help_panel=OWN_FILES)]
Method = Annotated[
    str,
    typer.Option(
        help="naive, weighted, balanced, each also with -reg; wcrm; additive, additive-soft, dr; "
        "full-information; or a reference: logger-1, logger-2, ..., crf, best-logger-greedy."
    ),
]
Preset = Annotated[
    str, typer.Option(help="paper: the printed settings; tuned: ours, chosen on validation risk.")
]
Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="table2, figure1, figure2, figure3, choices, loggers, pairwise, all."
    ),
]
Datasets = Annotated[
    list[str] | None, typer.Option("--dataset", help="Repeatable. Default: the paper's own for the target.")
]
Methods = Annotated[
    list[str] | None, typer.Option("--method", help="Repeatable. Default: all of the target's.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds 0 to N - 1.")]
Out = Annotated[Path, typer.Option(help="Folder for tables, figures and report.html.")]
Workers = Annotated[int, typer.Option(min=1, help="Cells to run at a time, one core each.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. train-loggers.C=0.03. Repeatable."),
]


@app.callback(invoke_without_command=True)
def main_options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and the libraries' logs.")] = False,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Learn better decision policies from the logs of several old ones.

    The store is ./data, or the folder that MULTILOGGER_HOME names.
    """
    context.obj = debug
    if show_version:
        typer.echo(f"multilogger {version('multilogger')}")
        raise typer.Exit


@app.command()
def datasets(context: typer.Context) -> None:
    """List the registered datasets."""
    with one_line_errors(context.obj):
        from multilogger.components.datasets import DATASETS
        from multilogger.flows.terminal import Terminal

        rows = [
            {
                "dataset": spec.name,
                "features": f"{spec.features:,}",
                "labels": f"{spec.labels}",
                "train": f"{spec.n_train:,}",
                "test": f"{spec.n_test:,}",
                "what": spec.note,
            }
            for spec in DATASETS.values()
        ]
        Terminal().table("Datasets", rows)


@app.command()
def stages(context: typer.Context) -> None:
    """List the stages, their settings and defaults."""
    with one_line_errors(context.obj):
        from multilogger.flows.terminal import Terminal
        from multilogger.tasks.registry import STAGES

        for stage in STAGES.values():
            rows = [
                {"setting": name, "default": text.default, "meaning": text.meaning}
                for name, text in stage.settings_type.described().items()
            ]
            Terminal().table(f"{stage.name}: {stage.summary}", rows)


@app.command()
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
    with one_line_errors(context.obj):
        from multilogger.flows.pipeline import PREPARE
        from multilogger.flows.session import flow_session
        from multilogger.flows.settings import parse_assignments, pipeline_settings

        settings = parse_assignments(assignments or [], stages=PREPARE) | own_files(
            train, test, features, labels
        )
        pipeline_settings(
            PREPARE, dataset, seed, mirror, settings
        )  # a typing error is said before anything starts
        with flow_session(context.obj) as terminal:
            from multilogger.flows.prepare import prepare as flow
            from multilogger.flows.summary import log_rows, policy_rows, stage_rows

            done = flow(dataset, seed, mirror, settings, list(PREPARE) if refresh else [])
        terminal.table("Stages", stage_rows(done.outcomes))
        terminal.table(
            "Policies on test: expected and greedy loss", policy_rows(done.outcomes["train-loggers"])
        )
        terminal.table("Bandit log", log_rows(done.outcomes["replay"]))
        if all(outcome.status != "computed" for outcome in done.outcomes.values()):
            typer.echo("Every stage was taken from the cache.")
        where_to_look(done.run_id)


@app.command()
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
    with one_line_errors(context.obj):
        from multilogger.flows.pipeline import LEARN, PREPARE
        from multilogger.flows.session import flow_session
        from multilogger.flows.settings import parse_assignments, pipeline_settings

        settings = parse_assignments(assignments or [], "learn") | own_files(train, test, features, labels)
        choices = {"learn.method": method, "learn.preset": preset} | settings
        pipeline_settings(LEARN, dataset, seed, mirror, choices)
        with flow_session(context.obj) as terminal:
            from multilogger.flows.learn import learn as flow
            from multilogger.flows.summary import estimate_rows, loss_rows, stage_rows

            again = [name for name in LEARN if name not in PREPARE] if refresh else []
            done = flow(dataset, method, seed, preset, mirror, settings, again)
        terminal.table("Stages", stage_rows(done.outcomes))
        terminal.table("Test: expected and greedy loss", loss_rows(done.outcomes))
        terminal.table("Validation rows: estimated risk", estimate_rows(done.outcomes))
        where_to_look(done.run_id)


@app.command()
def reproduce(
    context: typer.Context,
    target: Target = "table2",
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 10,
    preset: Preset = "tuned",
    mirror: Mirror = None,
    out: Out = Path("reproduction"),
    workers: Workers = 2,
    assignments: Set = None,
) -> None:
    """Reproduce tables and figures of the paper; runs only what is not finished, and writes a report."""
    with one_line_errors(context.obj):
        from multilogger.flows.experiments import Scope, plan_of
        from multilogger.flows.session import flow_session
        from multilogger.flows.settings import parse_assignments

        settings = parse_assignments(assignments or [], "learn")
        chosen = (tuple(datasets or ()) or None, tuple(methods or ()) or None)
        plan_of([target], Scope(*chosen, seeds, preset, mirror, settings))  # a typing error is said now
        with flow_session(context.obj) as terminal:
            from multilogger.flows.reproduce import reproduce as flow

            done = flow(target, datasets, methods, seeds, preset, mirror, str(out), settings, workers)
        from multilogger.flows.reproduction_tables import reproduction_tables

        for title, rows in reproduction_tables(done.reproduction).items():
            terminal.table(title, rows)
        typer.echo(f"Report      {_from_here(done.out / 'report.html')}")
        where_to_look(done.run_id)
        if done.failures:
            terminal.say(
                f"multilogger: {len(done.failures)} of {len(done.reproduction.cells)} cells failed; "
                "the report says why, and the same command runs those again"
            )
            raise typer.Exit(INCOMPLETE)


@app.command()
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
    with one_line_errors(context.obj):
        from multilogger.components.errors import BadInput
        from multilogger.flows.pipeline import LEARN, PREPARE
        from multilogger.flows.session import flow_session
        from multilogger.flows.settings import parse_assignments, pipeline_settings
        from multilogger.tasks.registry import STAGES

        if name not in STAGES:
            raise BadInput(f"unknown stage {name!r}; choose one of {', '.join(STAGES)}")
        if run is not None:
            from multilogger.flows.rerun_report import rerun_and_report

            new_run = rerun_and_report(context, name, run, assignments or [], refresh)
            where_to_look(new_run)
            if name == "learn":
                typer.echo(f"Evaluate it {_as_typed()} stage evaluate --run {new_run}")
            return
        settings = parse_assignments(assignments or [], name) | own_files(train, test, features, labels)
        if name not in PREPARE:
            settings = {"learn.method": method, "learn.preset": preset} | settings
        pipeline_settings(PREPARE if name in PREPARE else LEARN, dataset, seed, mirror, settings)
        with flow_session(context.obj) as terminal:
            from multilogger.flows.rerun import rerun_stage
            from multilogger.flows.summary import stage_rows

            done = rerun_stage(name, dataset, seed, mirror, settings, refresh)
        if done.inputs:
            terminal.table("Inputs", stage_rows(done.inputs))
        terminal.table("Result", stage_rows({name: done.outcome}))
        where_to_look(done.outcome.artifact.run_id)


@app.command()
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
        from multilogger.flows.existing_runs import existing_runs
        from multilogger.flows.terminal import Terminal

        tracker = existing_runs()
        from multilogger.flows.compare import compare as comparison

        shown = comparison(tracker, dataset, metric, methods or ())
        Terminal().table(shown.title, shown.rows)


@app.command()
def evaluate(
    context: typer.Context,
    policy: Annotated[
        str,
        typer.Option(help="MLflow run id, models:/NAME@ALIAS or models:/ID, or a folder with policy.json."),
    ],
    logs: Annotated[Path, typer.Option(help="Folder of Parquet logs: a replay of the store, or your own.")],
    out: Annotated[Path, typer.Option(help="Folder for the table, the picture and the JSON.")] = Path(
        "evaluation"
    ),
    contexts: Annotated[
        Path | None, typer.Option(help="Parquet file of features, by the log's 'context' ids.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Drives resamples and folds.")] = 0,
    bootstrap: Annotated[int, typer.Option(help="Resamples.")] = 1000,
    clip: Annotated[float | None, typer.Option(help="Cut of the clipped weights. Default: sqrt(n).")] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    validation_only: Annotated[
        bool | None,
        typer.Option(
            "--validation-only/--all-rows",
            help="Which rows. Default: validation rows if the policy may have been learned from the others.",
        ),
    ] = None,
    max_loss: Annotated[
        float | None, typer.Option(help="Largest possible loss. Default: the number of labels.")
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="Largest weight that could occur, for Bernstein intervals.")
    ] = None,
    dr_model: Annotated[
        str, typer.Option(help="Loss model of dr: 'ridge', or 'additive', a network of the features.")
    ] = "ridge",
    track: Annotated[
        bool, typer.Option("--track/--no-track", help="Record the evaluation in MLflow.")
    ] = True,
) -> None:
    """Estimate what a policy is worth from logs alone: every estimator, intervals, support, a picture."""
    with one_line_errors(context.obj):
        from multilogger.flows.evaluate_command import run_evaluation
        from multilogger.flows.evaluate_policy import EvaluateOptions, chosen_model

        options = EvaluateOptions(
            policy=policy,
            logs=logs,
            out=out,
            seed=seed,
            bootstrap=bootstrap,
            clip=clip,
            level=level,
            contexts=contexts,
            validation_only=validation_only,
            max_loss=max_loss,
            max_weight=max_weight,
            dr_model=chosen_model(dr_model),
            track=track,
        )
        run_id = run_evaluation(options, context.obj)
        if run_id is not None:
            where_to_look(run_id)


@app.command()
def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Open MLflow's pages for this store, on loopback; Ctrl-C stops them."""
    with one_line_errors(context.obj):
        from multilogger.flows.ui import serve_mlflow

        serve_mlflow(port)


@app.command()
def serve(
    context: typer.Context,
    target: Target = "table2",
    cron: Annotated[str, typer.Option(help="When to run: minute hour day month weekday.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option(help="Of the cron line, e.g. Europe/Berlin.")] = "UTC",
    name: Annotated[str | None, typer.Option(help="Default: the target and the datasets.")] = None,
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 10,
    preset: Preset = "tuned",
    mirror: Mirror = None,
    out: Out = Path("reproduction"),
    workers: Workers = 2,
    assignments: Set = None,
) -> None:
    """Run a reproduction by the clock, on the Prefect server of 'multilogger up' or PREFECT_API_URL."""
    with one_line_errors(context.obj):
        from multilogger.flows.schedule import checked_schedule, reproduce_parameters
        from multilogger.flows.serve import serve_schedule
        from multilogger.tasks.engine.store import Store

        Store.current().open()  # Prefect makes its home there when it is imported
        parameters = reproduce_parameters(
            target, datasets, methods, seeds, preset, mirror, out, assignments or [], workers
        )
        called = name or "-".join([target, *(datasets or [])])
        serve_schedule(checked_schedule(called, cron, timezone, parameters))


@app.command()
def up(
    context: typer.Context,
    prefect_port: Annotated[int, typer.Option(min=1, max=65535, help="Prefect's port on 127.0.0.1.")] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535, help="MLflow's port on 127.0.0.1.")] = 5000,
) -> None:
    """Start a Prefect server and MLflow's pages on this store; later commands use them. Ctrl-C stops both."""
    with one_line_errors(context.obj):
        from multilogger.flows.up import serve_both

        serve_both(prefect_port, mlflow_port)


def own_files(
    train: Path | None, test: Path | None, features: int | None, labels: int | None
) -> dict[str, Any]:
    """The options for own files as settings of `download`."""
    given = {"train_path": train, "test_path": test, "features": features, "labels": labels}
    return {
        f"download.{name}": str(value.absolute()) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }


def where_to_look(run_id: str) -> None:
    """The last lines of a command: the MLflow run, and how to see it."""
    from multilogger.flows.running_servers import running_servers
    from multilogger.tasks.engine.store import Store

    up = running_servers(Store.current())
    typer.echo(f"Store       {_from_here(Store.current().root)}")
    typer.echo(f"MLflow run  {run_id}")
    typer.echo(f"Look at it  {up.mlflow if up and up.mlflow else f'{_as_typed()} ui'}")


def _as_typed() -> str:
    """The command as this shell can type it again."""
    import shutil
    import sys

    found = Path(sys.argv[0])
    on_path = shutil.which("multilogger")
    if on_path is not None and Path(on_path).resolve() == found.resolve():
        return "multilogger"
    return _from_here(found)


def _from_here(path: Path) -> str:
    """A path below the current folder without that folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def main() -> None:
    """The console script."""
    app()
