"""The command `multilogger evaluate`: an evaluation with its files, its MLflow run, and what it prints.

Choice: not a Prefect flow. It is one step with nothing to cache or to spread over workers, and a person waits
for it: without a server it starts at once. MLflow records it as it records the stages.
"""

import csv
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multilogger.components.evaluation.evaluation import PolicyEvaluation
from multilogger.components.evaluation.picture import draw_evaluation
from multilogger.components.evaluation.tables import (
    estimate_line,
    estimate_table,
    logger_table,
    smoothed_table,
)
from multilogger.components.names import metric_part
from multilogger.flows.evaluation.evaluate import Evaluated, EvaluateOptions, evaluate_on_logs
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.progress import watched_by
from multilogger.tasks.engine.stage_run import MetricPoint
from multilogger.tasks.engine.store import Store, check_folder, writable_folder

STEM = "evaluation"
TABLE = "estimates"


def write_files(
    folder: Path, result: PolicyEvaluation, facts: Mapping[str, Any], title: str, level: float
) -> None:
    """Write evaluation.json, the table as CSV and Parquet, and the picture as PNG and SVG."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = _plain({**facts, **asdict(result)})
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    (folder / f"{STEM}.json").write_text(text + "\n", encoding="utf-8")
    lines = [estimate_line(row) for row in result.estimates]
    with (folder / f"{TABLE}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    numbers = [name for name in lines[0] if name != "estimator"]
    schema = pa.schema([("estimator", pa.string()), *((name, pa.float64()) for name in numbers)])
    pq.write_table(pa.Table.from_pylist(lines, schema=schema), folder / f"{TABLE}.parquet")
    draw_evaluation(result, title, level, folder / STEM)


def metrics_of(result: PolicyEvaluation) -> dict[str, float]:
    """The finite numbers of an evaluation, named as the `evaluate` stage names its own."""
    named: dict[str, float | None] = {}
    for row in result.estimates:
        line = estimate_line(row)
        named |= {f"{row.name}/{part}": v for part, v in line.items() if not isinstance(v, str)}
    for soft in result.smoothed:
        named |= {f"{soft.name}/value": soft.value, f"{soft.name}/low": soft.low}
        named[f"{soft.name}/high"] = soft.high
    for number, one in enumerate(result.loggers, start=1):
        name = metric_part(one.name, number)
        named |= {f"effective_rows/{name}": one.effective_rows, f"mean_weight/{name}": one.mean_weight}
    return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if TYPE_CHECKING:
    from multilogger.tasks.engine.tracking import Tracker


def run_evaluation(options: EvaluateOptions, debug: bool) -> str | None:
    """Evaluate, write the files, record the run, and print; the id of the MLflow run, if there is one."""
    if not debug:
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "CRITICAL")
    check_folder(options.out)
    with Terminal() as terminal, watched_by(terminal):
        done = evaluate_on_logs(options)
        run_id = keep(done, options)
    _show(done, options, terminal)
    return run_id


def keep(done: Evaluated, options: EvaluateOptions) -> str | None:
    """Write the files into `out`, and record them in MLflow unless that is off: the id of the run."""
    result, method, dataset = done.result, done.named.policy.method, done.dataset(options)
    facts = {
        "policy": done.named.source,
        "method": method,
        "log": options.log_path,
        "dataset": dataset,
        "level": options.level,
        "bootstrap": options.bootstrap,
        "seed": options.seed,
        "dr_model": options.dr_model,
        "notes": list(done.notes),
        "loss": done.source.loss,
    }
    title = f"{method} on {dataset}: risk from {result.rows:,} logged rows"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_files(folder, result, facts, title, options.level)
        out = writable_folder(options.out)
        for path in sorted(folder.iterdir()):
            shutil.copyfile(path, out / path.name)
        if not options.track:
            return None
        with _recorded(done, options) as (tracker, run_id):
            points = [MetricPoint(name, value) for name, value in metrics_of(result).items()]
            tracker.log(run_id, _params(options), points)
            tracker.log_folder(run_id, folder)
            warnings = "".join(f"- {line}\n" for line in result.warnings)
            tracker.tag(run_id, {"mlflow.note.content": f"{result.recommendation.sentence}\n\n{warnings}"})
        return run_id


@contextmanager
def _recorded(done: Evaluated, options: EvaluateOptions) -> "Iterator[tuple[Tracker, str]]":
    """An MLflow run in the dataset's experiment, ended well or with its reason."""
    from multilogger.tasks.engine.tracking import Tracker

    tracker = Tracker(Store.current().open())
    dataset, method, named = done.dataset(options), done.named.policy.method, done.named
    tags = {"flow": "evaluate", "dataset": dataset, "seed": str(options.seed), "method": method}
    if named.run_id is not None:
        tags["policy.run_id"] = named.run_id
    with tracker.running(dataset, f"{dataset} · evaluate {method} on logs", tags) as run_id:
        yield tracker, run_id


def _params(options: EvaluateOptions) -> dict[str, Any]:
    values = asdict(options)
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in values.items()
        if name not in ("track", "out", "workers", "log", "mapped") and value is not None
    } | ({} if options.log is None else options.log.model_dump(exclude_defaults=True))


def _show(done: Evaluated, options: EvaluateOptions, terminal: Terminal) -> None:
    """Warnings first, then the tables, last what to trust."""
    out, result = terminal.out, done.result
    for line in result.warnings:
        out.print(f"Warning: {line}.", style="yellow", highlight=False, soft_wrap=True, markup=False)
    for line in done.notes:
        out.print(line, highlight=False, soft_wrap=True, markup=False)
    out.print()
    terminal.table(f"Loggers: {result.rows:,} rows of {result.contexts:,} contexts", logger_table(result))
    terminal.table(
        f"Estimated risk: {done.source.loss} (weights clipped at {result.clip:.3g})",
        estimate_table(result, options.level),
    )
    smoothed = f"Smoothed weights, on average too high: {done.source.loss}"
    terminal.table(smoothed, smoothed_table(result, options.level))
    out.print(result.recommendation.sentence, style="bold", highlight=False, soft_wrap=True, markup=False)
    out.print(f"Files       {options.out}", highlight=False, soft_wrap=True, markup=False)
