"""The terminal: progress bars and tables, by Rich, on stderr and stdout."""

import os
import time
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from multilogger.components.text import TextRows, shown


def to_markdown(rows: TextRows) -> str:
    """Rows as a Markdown table."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PIPE_WIDTH = 120  # where there is no terminal to fit into
PIPE_SECONDS = 30.0  # between two lines about long work, in a log file


class TerminalBar:
    """One line of the live display, for as long as the work lasts."""

    def __init__(self, terminal: "Terminal", doing: str, total: float | None) -> None:
        self._terminal = terminal
        self._task: TaskID = terminal.progress.add_task(doing, total=total, note="")
        self._doing, self._total, self._done, self._said = doing, total, 0.0, time.monotonic()
        terminal.idle(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._terminal.progress.remove_task(self._task)
        self._terminal.idle(True)

    def __call__(self, amount: float = 1.0, note: str = "") -> None:
        self._terminal.progress.update(self._task, advance=amount, note=note)
        self._done += amount
        if not self._terminal.err.is_terminal and time.monotonic() - self._said >= PIPE_SECONDS:
            self._said = time.monotonic()
            self._terminal.say(f"{self._doing}: {self._progress()}")

    def _progress(self) -> str:
        if self._total is None:
            return f"{self._done:.0f} done"
        share = f"{self._done / self._total:.0%}"
        return f"{self._done:.0f} of {self._total:.0f} ({share})" if self._total > 1 else share


class PlainConsole(Console):
    """Names of a person's log are text: no part of them is a command to the terminal."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(shown(one) if isinstance(one, str) else one for one in objects), **how)


class Terminal:
    """Watches a flow: a live display on a terminal; elsewhere a line now and then."""

    def __init__(self) -> None:
        self.out = PlainConsole()
        if not self.out.is_terminal and "COLUMNS" not in os.environ:
            self.out.width = PIPE_WIDTH
        self.err = PlainConsole(stderr=True)
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=self.err,
            transient=True,
            disable=not self.err.is_terminal,
        )
        self._idle = self.progress.add_task("starting Prefect and MLflow", total=None, note="")

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def idle(self, visible: bool) -> None:
        """Show a spinner while no stage has a bar."""
        self.progress.update(self._idle, description="recording the run", visible=visible)

    def bar(self, doing: str, total: float | None) -> TerminalBar:
        return TerminalBar(self, doing, total)

    def done(self, line: str) -> None:
        if self.err.is_terminal:
            self.err.print(Text("✓ ", style="green").append(shown(line), style="default"), highlight=False)

    def say(self, line: str) -> None:
        self.err.print(line, highlight=False, soft_wrap=True, markup=False)

    def table(self, title: str, rows: TextRows) -> None:
        """Print rows under a title, numbers to the right."""
        table = Table(box=box.SIMPLE_HEAD)
        for column in rows[0]:
            numeric = all(row[column].replace(",", "").replace(".", "").isdigit() for row in rows)
            table.add_column(Text(shown(column)), justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(shown(value)) for value in row.values()))  # a name in brackets is no markup
        self.out.print(title, style="bold", highlight=False, markup=False)
        self.out.print(table)
