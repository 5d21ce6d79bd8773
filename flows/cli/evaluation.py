"""What a policy is worth, from logs alone."""

from pathlib import Path
from typing import Annotated

import typer

from multilogger.flows.cli.closing import where_to_look
from multilogger.flows.terminal.errors import one_line_errors


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
        float | None,
        typer.Option(help="Largest possible loss. Default: the number of labels, 1 for one of K."),
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="Largest weight that could occur, for Bernstein intervals.")
    ] = None,
    dr_model: Annotated[
        str, typer.Option(help="Loss model of dr: 'ridge', or 'network', one of the features.")
    ] = "ridge",
    track: Annotated[
        bool, typer.Option("--track/--no-track", help="Record the evaluation in MLflow.")
    ] = True,
) -> None:
    """Estimate what a policy is worth from logs alone: every estimator, intervals, support, a picture."""
    with one_line_errors(context.obj):
        from multilogger.flows.evaluation.command import run_evaluation
        from multilogger.flows.evaluation.evaluate import EvaluateOptions, chosen_model

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
