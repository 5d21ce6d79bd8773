"""The command `multilogger check`: a log on disk, streamed, or held where a policy is to be judged by it."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.policy import load_policy
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.checks.report import WEIGHTS, LogReport
from multilogger.components.own_log.mapping import Wanted, resolve
from multilogger.components.own_log.source import PARQUET, OpenSource
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import open_bar, watched_by
from multilogger.tasks.own_log.import_settings import ImportLogSettings

STYLES = {"Unsafe": "bold red", "Mend": "yellow"}


def check_logs(log: ImportLogSettings, policy: Path | None = None) -> LogReport:
    """Look at the log, also under a policy."""
    source = log.open()
    if policy is not None:
        return _held(log, source).check(load_policy(policy))
    with Terminal() as terminal, watched_by(terminal), open_bar("reading the log", None) as advance:
        return check_files(source, log.wanted, log.stated(source), advance)


def _held(log: ImportLogSettings, source: OpenSource) -> BanditLog:
    """The whole log in memory."""
    import pyarrow as pa

    wanted = log.wanted
    if source.source.is_local and source.source.format == PARQUET and Path(log.logs).exists():
        return BanditLog.from_parquet(log.logs, **_named(wanted, log))
    mapping = resolve(wanted, source.schema, log.logs)
    table = pa.concat_tables([rows.table for rows in source.batches([*mapping.named, *mapping.features])])
    named = Wanted(**{**vars(wanted), "features": mapping.features})
    return BanditLog.from_frame(table, **_named(named, log))


def _named(columns: Wanted, log: ImportLogSettings) -> Any:
    """The columns as `BanditLog` takes them."""
    given: dict[str, Any] = {}
    for one in fields(columns):
        value = getattr(columns, one.name)
        if value and one.name != "split":
            single = isinstance(value, tuple) and len(value) == 1
            given[one.name] = value[0] if single else list(value) if isinstance(value, tuple) else value
    if log.reward_range is not None:
        given["reward_range"] = log.reward_range
    if log.max_loss is not None:
        given["max_loss"] = log.max_loss
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
