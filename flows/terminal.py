"""The terminal: progress bars and tables, by Rich, on stderr and stdout."""

import threading
from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from multilogger.flows.tables import Rows


class TerminalBar:
    """One line of the display; it stays, ticked off, when the work is done."""

    def __init__(self, progress: Progress, doing: str, total: float | None) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task(doing, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.remove_task(self._task)

    def __call__(self, amount: float = 1.0) -> None:
        self._progress.advance(self._task, amount)


class Terminal:
    """Watches a flow: a live display on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self.out = Console()
        self.err = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=not self.err.is_terminal,
        )
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def bar(self, doing: str, total: float | None) -> TerminalBar:
        with self._guard:
            return TerminalBar(self._progress, doing, total)

    def say(self, line: str) -> None:
        self.err.print(line, highlight=False, soft_wrap=True)

    def table(self, title: str, rows: Rows) -> None:
        """Print rows under a title, numbers to the right."""
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
        for column in rows[0]:
            numeric = all(row[column].replace(",", "").replace(".", "").isdigit() for row in rows)
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*row.values())
        self.out.print(table)
