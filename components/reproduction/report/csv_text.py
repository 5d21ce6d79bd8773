"""How rows become the text of a CSV file: fixed columns, fixed number formats."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Protocol

from multilogger.components.reproduction.statistics import MeanOverSeeds, measured

CsvLine = Mapping[str, str | int]
"""A row of a file, by column; all rows of a file have the same columns."""


class OfMethod(Protocol):
    """A row that is of one method."""

    @property
    def dataset(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def preset(self) -> str: ...


def who_columns(row: OfMethod) -> dict[str, str]:
    return {"dataset": row.dataset, "method": row.method, "preset": row.preset}


def sample_columns(name: str, sample: MeanOverSeeds) -> dict[str, str | int]:
    return {f"{name}_seeds": sample.count, **mean_columns(name, sample)}


def mean_columns(name: str, sample: MeanOverSeeds) -> dict[str, str]:
    ends = {"mean": sample.mean, "low": sample.low, "high": sample.high}
    return {f"{name}_{part}": measured(value) for part, value in ends.items()}


def read_sample(line: Mapping[str, str], name: str) -> MeanOverSeeds:
    texts = (line[f"{name}_{part}"] for part in ("mean", "low", "high"))
    mean, low, high = (float(text) if text else None for text in texts)
    return MeanOverSeeds(int(line[f"{name}_seeds"]), mean, low, high, standard_error=None)


def probability_text(p: float | None) -> str:
    return "" if p is None else f"{p:.3g}"


def csv_text(lines: Iterable[CsvLine]) -> str:
    """Lines under the names of their columns; no lines are no file."""
    written = list(lines)
    if not written:
        return ""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(written[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(written)
    return buffer.getvalue()
