"""What a careful colleague would look at before a log is learned from."""

from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.flows.cli.log_options import log_settings, with_column_options
from multilogger.flows.terminal.errors import one_line_errors

UNSAFE = 1


@with_column_options
def check(
    context: typer.Context,
    logs: Annotated[
        str | None,
        typer.Argument(help="File, folder, glob, s3:// or gs:// of Parquet or CSV; --columns may name it."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Folder of a saved policy: how well is it covered? Holds the log.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures here.")] = None,
    *,
    log: dict[str, Any],
) -> None:
    """Look at a log before learning: exit code 0 if it is fine, 1 if learning would be unsafe."""
    with one_line_errors(context.obj):
        from multilogger.flows.evaluation.check import check_logs, show

        report = check_logs(log_settings(logs, log), policy)
        if html is not None:
            report.to_html(html.expanduser())
        if as_json:
            typer.echo(report.to_json())
        else:
            show(report, html)
        if not report.safe:
            raise typer.Exit(UNSAFE)
