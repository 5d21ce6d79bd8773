"""What a careful colleague would look at before a log is learned from."""

from pathlib import Path
from typing import Annotated

import typer

from multilogger.flows.terminal.errors import one_line_errors

UNSAFE = 1
COLUMNS = "Columns of the log"


def _column(text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(help=text, rich_help_panel=COLUMNS)
    return found


Text = str | None
Texts = list[str] | None


def check(
    context: typer.Context,
    logs: Annotated[Path, typer.Argument(help="A Parquet file, or a folder of them.")],
    action: Annotated[Texts, _column("Ids, lists of 0 and 1, or one column per label. Repeatable.")] = None,
    reward: Annotated[Text, _column("Rewards.")] = None,
    loss: Annotated[Text, _column("Losses, 0 or more.")] = None,
    propensity: Annotated[Text, _column("Probability of the action under the row's own logger.")] = None,
    log_propensity: Annotated[Text, _column("Its natural logarithm.")] = None,
    propensities: Annotated[Texts, _column("Those under every logger, in the order of names.")] = None,
    log_propensities: Annotated[Texts, _column("Their natural logarithms.")] = None,
    logger: Annotated[Text, _column("Who acted.")] = None,
    features: Annotated[Texts, _column("Names or patterns such as 'user_*'. Repeatable.")] = None,
    context_id: Annotated[
        Text,
        typer.Option("--context", help="Ids; rows of one id share their features.", rich_help_panel=COLUMNS),
    ] = None,
    time: Annotated[Text, _column("Times, to look for drift.")] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Folder of a saved policy: how well is it covered? Holds the log.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures here.")] = None,
) -> None:
    """Look at a log before learning: exit code 0 if it is fine, 1 if learning would be unsafe."""
    with one_line_errors(context.obj):
        from multilogger.components.checks.disk.columns import Columns
        from multilogger.flows.evaluation.check import check_logs, show

        columns = Columns(
            action=tuple(action or ()),
            reward=reward,
            loss=loss,
            propensity=propensity,
            log_propensity=log_propensity,
            propensities=tuple(propensities or ()),
            log_propensities=tuple(log_propensities or ()),
            logger=logger,
            features=tuple(features or ()),
            context=context_id,
            time=time,
        )
        report = check_logs(logs.expanduser(), columns, policy)
        if html is not None:
            report.to_html(html.expanduser())
        if as_json:
            typer.echo(report.to_json())
        else:
            show(report, html)
        if not report.safe:
            raise typer.Exit(UNSAFE)
