"""One command from a log or a dataset to a table, a page and a champion."""

import time
from pathlib import Path
from typing import Annotated

import typer

from multilogger.components.text import shown
from multilogger.flows.cells.runner_choice import RunnerChoice
from multilogger.flows.cli.data_options import GivenData, takes_data
from multilogger.flows.cli.options import Address, Preset, RunnerName, Seeds, StudiedMethods, Workers
from multilogger.flows.terminal.errors import INCOMPLETE, one_line_errors


@takes_data
def study(
    context: typer.Context,
    methods: StudiedMethods = None,
    seeds: Seeds = 5,
    preset: Preset = "auto",
    out: Annotated[Path, typer.Option(help="Folder for study.html and study.csv.")] = Path("study"),
    workers: Workers = 2,
    runner: RunnerName = "process",
    address: Address = None,
    *,
    data: GivenData,
) -> None:
    """Compare methods on your own logs, your own files or a dataset: a table, a page and a champion."""
    started = time.monotonic()
    with one_line_errors(context.obj):
        from multilogger.flows.servers.session import flow_session, from_here, how_much, where_to_look
        from multilogger.tasks.engine.store import check_folder

        RunnerChoice(workers, runner, address)  # a wrong choice is said now
        chosen = data.chosen("learn")
        studied = (chosen.dataset, methods, seeds, preset, chosen.mirror)
        settings = chosen.settings

        def check() -> None:
            from multilogger.flows.study.plan import study_cells

            nonlocal settings
            check_folder(out)
            settings = study_cells(*studied, settings)[0].settings

        with flow_session(context.obj, check) as terminal:
            from multilogger.flows.study.study import study as flow

            done = flow(*studied, settings, str(out), workers, runner, address)
        for title, rows in done.tables.items():
            terminal.table(title, rows)
        for line in done.conclusion:
            typer.echo(shown(f"{line}\n"))
        how_much(started, "cell", done.computed, done.reused)
        typer.echo(f"Champion    {done.champion}")
        typer.echo(f"Report      {from_here(done.out / 'study.html')}")
        where_to_look(done.run_id)
        if done.failed:
            terminal.say(
                f"multilogger: {done.failed} of {done.cells} cells failed; the page says why, and the same "
                "command runs those again"
            )
            raise typer.Exit(INCOMPLETE)
