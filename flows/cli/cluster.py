"""A cluster: is it well, and a worker for it."""

import os
import sys
from typing import Annotated

import typer

from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.terminal.errors import one_line_errors

WRONG = 1
ONE_THREAD = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0")


def doctor(
    context: typer.Context,
    address: Annotated[
        str | None, typer.Option(help="A Dask scheduler, tcp://HOST:8786: its workers are looked at too.")
    ] = None,
) -> None:
    """Check servers, store and workers, each in one line; exit code 1 if something is wrong."""
    with one_line_errors(context.obj):
        from multilogger.flows.cluster.doctor import diagnose
        from multilogger.flows.servers.session import quieten

        if address is not None:
            RunnerChoice(runner="dask", address=address)
        if not context.obj:
            quieten()
        wrong = 0
        for finding in diagnose(address):
            typer.echo(finding.line())
            wrong += finding.wrong
        typer.echo(f"\n{wrong} to be mended" if wrong else "\nAll is well")
        if wrong:
            raise typer.Exit(WRONG)


def worker(
    context: typer.Context,
    address: Annotated[str, typer.Option(help="The Dask scheduler, tcp://HOST:8786.")],
    workers: Annotated[int, typer.Option(min=1, help="Processes of one thread, one core each.")] = 1,
) -> None:
    """Work for a Dask cluster, with the store of MULTILOGGER_HOME, until Ctrl-C."""
    with one_line_errors(context.obj):
        from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

        RunnerChoice(runner="dask", address=address)
        os.environ[ROOT_VARIABLE] = str(Store.current().open().root)
        program = [sys.executable, "-m", "dask", "worker", address, "--nworkers", str(workers), *ONE_THREAD]
        os.execv(sys.executable, program)
