"""The CSV files of datasets whose action is one of K."""

import csv
import io
from collections.abc import Sequence

from multilogger.components.reproduction.report.csv_text import (
    csv_text,
    probability_text,
    read_sample,
    sample_columns,
    who_columns,
)
from multilogger.components.reproduction.tables.one_of import CalibrationRow, OneOfRow


def one_of_csv(rows: Sequence[OneOfRow]) -> str:
    """Of the datasets whose action is one of K; the last column is that of `table2_csv`."""
    return csv_text(
        {
            **who_columns(row),
            **sample_columns("exp", row.exp),
            **sample_columns("error", row.error),
            **sample_columns("full_ratio", row.full_ratio),
            **sample_columns("twin_change", row.twin_change),
            "constraint": "same" if row.repeats_twin else "",
        }
        for row in rows
    )


def read_one_of_csv(text: str) -> list[OneOfRow]:
    """The rows of a file, without the standard errors that it does not have."""
    return [
        OneOfRow(
            dataset=line["dataset"],
            method=line["method"],
            preset=line["preset"],
            exp=read_sample(line, "exp"),
            error=read_sample(line, "error"),
            full_ratio=read_sample(line, "full_ratio"),
            twin_change=read_sample(line, "twin_change"),
            repeats_twin=line["constraint"] == "same",
        )
        for line in csv.DictReader(io.StringIO(text))
    ]


def calibration_csv(rows: Sequence[CalibrationRow]) -> str:
    """How many seeds have a loss model that is off."""
    return csv_text(
        {
            **who_columns(row),
            "seeds": len(row.p_values),
            "off_seeds": row.off,
            "median_p": probability_text(row.median_p),
        }
        for row in rows
    )
