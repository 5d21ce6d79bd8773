"""What an evaluation leaves: tables for the terminal, and files."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from multilogger.components.evaluation.evaluation import EstimateRow, PolicyEvaluation
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.picture import draw_evaluation
from multilogger.flows.terminal.terminal import Rows

STEM = "evaluation"
TABLE = "estimates"


def estimate_table(result: PolicyEvaluation, level: float) -> Rows:
    """One line an estimator; the one to trust is marked."""
    return [
        {
            "estimator": f"{row.name} *" if row.name == result.recommendation.estimator else row.name,
            "risk": f"{row.value:.3f}",
            f"{level:.0%} bootstrap": _ends(row.bootstrap),
            f"{level:.0%} Bernstein": _ends(row.bernstein, result.max_loss),
            "mean weight": f"{row.mean_weight:.3f}",
            "effective rows": f"{row.effective_rows:,.0f}",
        }
        for row in result.estimates
    ]


def logger_table(result: PolicyEvaluation) -> Rows:
    """One line a logger: its own loss, and what its rows are worth."""
    return [
        {
            "logger": one.name,
            "rows": f"{one.rows:,}",
            "own mean loss": f"{one.mean_loss:.3f}",
            "mean weight": f"{one.mean_weight:.3f}",
            "effective rows": f"{one.effective_rows:,.0f}",
            "largest row": f"{one.largest_share:.1%}",
            "likeliest action": f"{one.greedy_rows:.1%}",
            "lambda* share": f"{share:.3f}",
        }
        for one, share in zip(result.loggers, result.lambda_share, strict=True)
    ]


def write_files(
    folder: Path, result: PolicyEvaluation, facts: Mapping[str, Any], title: str, level: float
) -> None:
    """Write evaluation.json, the table as CSV and Parquet, and the picture as PNG and SVG."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = _plain({**facts, **asdict(result)})
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    (folder / f"{STEM}.json").write_text(text + "\n", encoding="utf-8")
    lines = [_line(row) for row in result.estimates]
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
        named |= {f"{row.name}/{part}": value for part, value in _line(row).items() if part != "estimator"}  # type: ignore[misc]
    for one in result.loggers:
        named |= {
            f"effective_rows/{one.name}": one.effective_rows,
            f"mean_weight/{one.name}": one.mean_weight,
        }
    return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


def _line(row: EstimateRow) -> dict[str, str | float | None]:
    return {
        "estimator": row.name,
        "value": row.value,
        "standard_error": row.standard_error,
        "low": row.bootstrap.low,
        "high": row.bootstrap.high,
        "bernstein_low": row.bernstein.low if row.bernstein else None,
        "bernstein_high": row.bernstein.high if row.bernstein else None,
        "mean_weight": row.mean_weight,
        "effective_rows": row.effective_rows,
    }


def _ends(interval: Interval | None, max_loss: float = math.inf) -> str:
    if interval is None:
        return "-"
    if interval.low <= 0 and interval.high >= max_loss:
        return "says nothing"
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
