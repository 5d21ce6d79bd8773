"""The command `multilogger check`: a log on disk, streamed, or held where a policy is to be judged by it."""

from pathlib import Path

from multilogger.components.api.policy import load_policy
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.checks.report import LogReport
from multilogger.flows.evaluation.held_log import held_log
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import open_bar, watched_by
from multilogger.tasks.own_log.import_settings import ImportLogSettings

STYLES = {"Unsafe": "bold red", "Mend": "yellow"}


def check_logs(log: ImportLogSettings, policy: Path | None = None) -> LogReport:
    """Look at the log, also under a policy."""
    source = log.open()
    if policy is not None:
        return held_log(log, source).check(load_policy(policy))
    with Terminal() as terminal, watched_by(terminal), open_bar("reading the log", None) as advance:
        return check_files(source, log.wanted, log.stated(source), advance)


def show(report: LogReport, html: Path | None) -> None:
    """The table of loggers, the findings, the verdict."""
    terminal = Terminal()
    out = terminal.out
    terminal.table(report.log, report.table())
    out.print(f"({report.legend})\n", highlight=False, soft_wrap=True, markup=False)
    for line in report.lines():
        style = STYLES.get(line.partition(":")[0])
        out.print(line, style=style, highlight=False, soft_wrap=True, markup=False)
    if report.mend:
        out.print(report.verdict, style="bold", highlight=False, soft_wrap=True, markup=False)
    if html is not None:
        out.print(f"Page        {html}", highlight=False, soft_wrap=True, markup=False)
