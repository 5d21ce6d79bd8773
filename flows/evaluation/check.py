"""The command `multilogger check`: a log on disk, streamed, or held where a policy is to be judged by it."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.policy import load_policy
from multilogger.components.checks.disk.columns import Columns
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.checks.report import WEIGHTS, LogReport
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import open_bar, watched_by

STYLES = {"Unsafe": "bold red", "Mend": "yellow"}


def check_logs(path: Path, columns: Columns, policy: Path | None = None) -> LogReport:
    """Look at the log, also under a policy."""
    if policy is not None:
        return BanditLog.from_parquet(path, **_named(columns)).check(load_policy(policy))
    with Terminal() as terminal, watched_by(terminal), open_bar("reading the log", None) as advance:
        return check_files(path, columns, advance)


def _named(columns: Columns) -> Any:
    """The columns as `BanditLog.from_parquet` takes them."""
    given: dict[str, Any] = {}
    for one in fields(columns):
        value = getattr(columns, one.name)
        if value:
            single = isinstance(value, tuple) and len(value) == 1
            given[one.name] = value[0] if single else list(value) if isinstance(value, tuple) else value
    return given


def show(report: LogReport, html: Path | None) -> None:
    """The table of loggers, the findings, the verdict."""
    terminal = Terminal()
    out = terminal.out
    terminal.table(report.log, report.table())
    out.print(f"({WEIGHTS[report.weights]})\n", highlight=False, soft_wrap=True, markup=False)
    for line in report.lines():
        style = STYLES.get(line.partition(":")[0])
        out.print(line, style=style, highlight=False, soft_wrap=True, markup=False)
    if report.mend:
        out.print(report.verdict, style="bold", highlight=False, soft_wrap=True, markup=False)
    if html is not None:
        out.print(f"Page        {html}", highlight=False, soft_wrap=True, markup=False)
