"""The command line: every command is registered here and lives in a file beside this one."""

import atexit
import gc
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from multilogger.flows.cli.check import check
from multilogger.flows.cli.cluster import doctor, worker
from multilogger.flows.cli.inspection import compare, datasets, evaluate, stages, ui, up
from multilogger.flows.cli.pipeline import learn, prepare, stage
from multilogger.flows.cli.reproduction import reproduce, serve
from multilogger.flows.cli.study import study
from multilogger.flows.environment import hide_logins
from multilogger.flows.terminal.errors import one_line_usage, warn_in_lines

COMMANDS = (
    datasets, stages, prepare, learn, study, reproduce, stage, compare, check, evaluate, ui, serve, up,
    doctor, worker,
)  # fmt: skip

app = typer.Typer(
    name="multilogger",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    hide_logins()
    warn_in_lines()


for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """The console script."""
    _spare_the_collector()
    with one_line_usage():
        sys.exit(app(standalone_mode=False))


def _spare_the_collector() -> None:
    """Prefect and MLflow make a million objects that stay to the end: look through them seldom.

    With 'multilogger up' a cached command then takes 3.9 seconds instead of 5.1.
    """
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)
