"""What there is to look at: datasets, stages, the runs side by side, what a policy is worth, pages."""

from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.flows.cli.log_options import log_settings, with_column_options
from multilogger.flows.cli.options import Address, Dataset, RunnerName
from multilogger.flows.terminal.errors import one_line_errors


def datasets(context: typer.Context) -> None:
    """List the registered datasets."""
    with one_line_errors(context.obj):
        from multilogger.components.datasets.registry import DATASETS, actions_text
        from multilogger.flows.pipelines.registered_logs import registered_logs
        from multilogger.flows.terminal.terminal import Terminal

        rows = [
            {
                "dataset": spec.name,
                "features": f"{spec.features:,}",
                "actions": actions_text(spec.actions, spec.labels),
                "train": f"{spec.n_train:,}",
                "test": f"{spec.n_test:,}",
                "what": spec.note,
            }
            for spec in DATASETS.values()
        ]
        rows += [
            {
                "dataset": name,
                "features": "words",
                "actions": actions_text("one-of", actions),
                "train": "a log",
                "test": "",
                "what": note,
            }
            for name, (actions, note) in registered_logs().items()
        ]
        Terminal().table("Datasets", rows)


def stages(context: typer.Context) -> None:
    """List the stages, their settings and defaults."""
    with one_line_errors(context.obj):
        from multilogger.flows.terminal.terminal import Terminal
        from multilogger.tasks.registry import STAGES

        for stage in STAGES.values():
            rows = [
                {"setting": name, "default": text.default, "meaning": text.meaning}
                for name, text in stage.settings_type.described().items()
            ]
            Terminal().table(f"{stage.name}: {stage.summary}", rows or [{"setting": "none"}])


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


@with_column_options
def evaluate(
    context: typer.Context,
    policy: Annotated[
        str,
        typer.Option(help="MLflow run id, models:/NAME@ALIAS or models:/ID, or a folder with policy.json."),
    ],
    logs: Annotated[
        str | None,
        typer.Option(
            help="A replay of the store, or your own: file, folder, glob, s3:// or gs:// of Parquet or CSV."
        ),
    ] = None,
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
    max_weight: Annotated[
        float | None, typer.Option(help="Largest weight that could occur, for Bernstein intervals.")
    ] = None,
    dr_model: Annotated[str, typer.Option(help="Loss model of dr: 'ridge', 'smrdr' or 'network'.")] = "ridge",
    workers: Annotated[
        int, typer.Option(help="Processes that read a log of more than a million rows; same result.")
    ] = 1,
    runner: RunnerName = "process",
    address: Address = None,
    track: Annotated[
        bool, typer.Option("--track/--no-track", help="Record the evaluation in MLflow.")
    ] = True,
    *,
    log: dict[str, Any],
) -> None:
    """Estimate what a policy is worth from logs alone: every estimator, intervals, support, a picture."""
    with one_line_errors(context.obj):
        from multilogger.flows.evaluation.command import run_evaluation
        from multilogger.flows.evaluation.evaluate import EvaluateOptions, chosen_model
        from multilogger.flows.servers.session import where_to_look

        settings = log_settings(logs, log)
        options = EvaluateOptions(
            policy=policy,
            logs=Path(settings.logs),
            log=settings,
            mapped=bool(set(log) - {"max_loss"}),
            out=out,
            seed=seed,
            bootstrap=bootstrap,
            clip=clip,
            level=level,
            contexts=contexts,
            validation_only=validation_only,
            max_loss=settings.max_loss,
            max_weight=max_weight,
            dr_model=chosen_model(dr_model),
            workers=workers,
            runner=runner,
            address=address,
            track=track,
        )
        run_id = run_evaluation(options, context.obj)
        if run_id is not None:
            where_to_look(run_id)


def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Open MLflow's pages for this store, on loopback; Ctrl-C stops them."""
    with one_line_errors(context.obj):
        from multilogger.flows.servers.up import serve_mlflow

        serve_mlflow(port)


def up(
    context: typer.Context,
    prefect_port: Annotated[int, typer.Option(min=1, max=65535, help="Prefect's port on 127.0.0.1.")] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535, help="MLflow's port on 127.0.0.1.")] = 5000,
) -> None:
    """Start a Prefect server and MLflow's pages on this store; later commands use them. Ctrl-C stops both."""
    with one_line_errors(context.obj):
        from multilogger.flows.servers.up import serve_both

        serve_both(prefect_port, mlflow_port)
