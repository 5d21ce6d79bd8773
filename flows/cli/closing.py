"""The last lines of a command: how much was computed, and where to look at it."""

import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from multilogger.tasks.engine.runner import Outcome


def how_much(started: float, noun: str, computed: int, reused: int) -> None:
    """What was computed and what was there already, since `started` on the monotonic clock."""
    made = f"{computed} {noun}" + ("" if computed == 1 else "s")
    typer.echo(f"Computed    {made}, {reused} from the cache, in {time.monotonic() - started:.0f} s")


def how_many_stages(started: float, outcomes: "Iterable[Outcome]") -> None:
    """The same of stages: one restored from MLflow was there already, one that was skipped does not count."""
    statuses = [outcome.status.value for outcome in outcomes]
    computed = statuses.count("computed")
    how_much(started, "stage", computed, len(statuses) - computed - statuses.count("skipped"))


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
