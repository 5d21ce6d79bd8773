"""The command line. Heavy imports stand inside the commands: `multilogger --help` must be instant."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.flows.errors import one_line_errors

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
) -> None:
    """Run one stage alone, from inputs that are in the cache."""
    with one_line_errors(context.obj):
        from multilogger.components.errors import BadInput
        from multilogger.flows.pipeline import LEARN, PREPARE
        from multilogger.flows.session import flow_session
        from multilogger.flows.settings import parse_assignments, pipeline_settings
        from multilogger.tasks.registry import STAGES

        if name not in STAGES:
            raise BadInput(f"unknown stage {name!r}; choose one of {', '.join(STAGES)}")
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
def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Open MLflow's pages for this store, on loopback; Ctrl-C stops them."""
    with one_line_errors(context.obj):
        from multilogger.flows.ui import serve_mlflow

        serve_mlflow(port)


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
    from multilogger.tasks.engine.store import Store

    typer.echo(f"Store       {_from_here(Store.current().root)}")
    typer.echo(f"MLflow run  {run_id}")
    typer.echo(f"Look at it  {_as_typed()} ui")


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
