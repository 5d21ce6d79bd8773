"""Pages to look at, and a Prefect server that stays up."""

from typing import Annotated

import typer

from multilogger.flows.terminal.errors import one_line_errors


def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Open MLflow's pages for this store, on loopback; Ctrl-C stops them."""
    with one_line_errors(context.obj):
        from multilogger.flows.servers.ui import serve_mlflow

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
