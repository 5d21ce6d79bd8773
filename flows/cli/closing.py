"""The last lines of a command: where to look at what it made."""

import shutil
import sys
from pathlib import Path

import typer


def where_to_look(run_id: str) -> None:
    """The store, the MLflow run, and how to see it."""
    from multilogger.flows.servers.running_servers import running_servers
    from multilogger.tasks.engine.store import Store

    up = running_servers(Store.current())
    typer.echo(f"Store       {from_here(Store.current().root)}")
    typer.echo(f"MLflow run  {run_id}")
    typer.echo(f"Look at it  {up.mlflow if up and up.mlflow else f'{as_typed()} ui'}")


def as_typed() -> str:
    """The command as this shell can type it again."""
    found = Path(sys.argv[0])
    on_path = shutil.which("multilogger")
    if on_path is not None and Path(on_path).resolve() == found.resolve():
        return "multilogger"
    return from_here(found)


def from_here(path: Path) -> str:
    """A path below the current folder without that folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
