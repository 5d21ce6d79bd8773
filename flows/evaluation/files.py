"""What an evaluation leaves: files, and metrics."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from multilogger.components.evaluation.evaluation import PolicyEvaluation
from multilogger.components.evaluation.picture import draw_evaluation
from multilogger.components.evaluation.tables import estimate_line

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
    for one in result.loggers:
        named |= {
            f"effective_rows/{one.name}": one.effective_rows,
            f"mean_weight/{one.name}": one.mean_weight,
        }
    return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
