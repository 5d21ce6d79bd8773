"""The CSV files of a reproduction: fixed columns, fixed number formats, empty where there is no number."""

import csv
import io
from collections.abc import Iterable, Sequence

from multilogger.components.reproduction.claims.verdicts import Claim
from multilogger.components.reproduction.results import (
    DatasetSize,
    Reproduction,
    failed_cells,
    failure_reason,
    sweep_position,
)
from multilogger.components.reproduction.statistics import fixed, measured, number
from multilogger.components.reproduction.tables.choices import ChoiceRow
from multilogger.components.reproduction.tables.studies import AdditivityRow, LoggerStudyRow
from multilogger.components.reproduction.tables.sweeps import AXES, SweepRow
from multilogger.components.reproduction.tables.table1 import Table1Row
from multilogger.components.reproduction.tables.table2 import Table2Row

TABLE1_COLUMNS = ("features", "labels", "n_train", "n_test")
METHOD_HEADER = (
    "dataset",
    "method",
    "preset",
    "seeds",
    "exp_mean",
    "exp_low",
    "exp_high",
    "greedy_mean",
)


def table1_csv(rows: Sequence[Table1Row]) -> str:
    header = ("dataset", *TABLE1_COLUMNS, *(f"paper_{column}" for column in TABLE1_COLUMNS))
    return _text(header, ((row.ours.dataset, *_sizes(row.ours), *_sizes(row.paper)) for row in rows))


def table2_csv(rows: Sequence[Table2Row]) -> str:
    """The last column says `open` of a row that repeats its direct twin."""
    return _text(
        (*METHOD_HEADER, "paper", "constraint"),
        ((*_method(row), fixed(row.paper, 3), "same" if row.repeats_twin else "") for row in rows),
    )


def claims_csv(claims: Sequence[Claim]) -> str:
    """One row per test; a verdict is by the test's own 95 % interval, `holm_p` is corrected in its preset."""
    header = (
        "claim",
        "statement",
        "dataset",
        "preset",
        "comparison",
        "seeds",
        "difference_mean",
        "difference_low",
        "difference_high",
        "p",
        "holm_p",
        "verdict",
        "paper_difference",
    )
    return _text(
        header,
        (
            (
                claim.name,
                claim.statement,
                test.dataset,
                test.preset,
                test.comparison,
                str(test.sample.count),
                *map(measured, (test.sample.mean, test.sample.low, test.sample.high)),
                _probability(test.p),
                _probability(test.adjusted_p),
                test.verdict.value,
                measured(test.paper_value),
            )
            for claim in claims
            for test in claim.tests
        ),
    )


def pairwise_csv(rows: Sequence[Table2Row]) -> str:
    return _text(METHOD_HEADER, (_method(row) for row in rows))


def additivity_csv(rows: Sequence[AdditivityRow]) -> str:
    header = ("dataset", "preset", "seeds", "rejected_seeds", "rejected_share", "median_p")
    return _text(
        header,
        (
            (
                row.dataset,
                row.preset,
                str(len(row.p_values)),
                str(row.rejected),
                measured(row.rejected_share),
                f"{row.median_p:.3g}",
            )
            for row in rows
        ),
    )


def sweep_csv(figure: str, rows: Sequence[SweepRow]) -> str:
    header = (
        "dataset",
        AXES[figure],
        "method",
        "preset",
        "seeds",
        "inverse_exp_mean",
        "inverse_exp_low",
        "inverse_exp_high",
        "exp_mean",
        "paper",
    )
    return _text(
        header,
        (
            (
                row.dataset,
                number(row.x),
                row.method,
                row.preset,
                str(row.inverse.count),
                measured(row.inverse.mean),
                measured(row.inverse.low),
                measured(row.inverse.high),
                measured(row.exp_mean),
                fixed(row.paper, 4),
            )
            for row in rows
        ),
    )


def choices_csv(rows: Sequence[ChoiceRow]) -> str:
    header = (
        "dataset",
        "method",
        "preset",
        "choice",
        "seeds",
        "exp_mean",
        "paired_seeds",
        "difference_mean",
        "difference_low",
        "difference_high",
        "p",
    )
    return _text(
        header,
        (
            (
                row.dataset,
                row.method,
                row.preset,
                row.choice,
                str(row.exp.count),
                measured(row.exp.mean),
                str(row.difference.count),
                measured(row.difference.mean),
                measured(row.difference.low),
                measured(row.difference.high),
                _probability(row.p),
            )
            for row in rows
        ),
    )


def loggers_csv(rows: Sequence[LoggerStudyRow]) -> str:
    header = ("dataset", "method", "preset", "loggers", "seeds", "exp_mean", "exp_low", "exp_high")
    return _text(
        header,
        (
            (
                row.dataset,
                row.method,
                row.preset,
                str(row.loggers),
                str(row.exp.count),
                measured(row.exp.mean),
                measured(row.exp.low),
                measured(row.exp.high),
            )
            for row in rows
        ),
    )


def failed_csv(reproduction: Reproduction) -> str:
    header = ("part", "dataset", "method", "preset", "seed", "position", "reason")
    return _text(
        header,
        (
            (part, c.dataset, c.method, c.preset, str(c.seed), sweep_position(c), failure_reason(c))
            for part, c in failed_cells(reproduction)
        ),
    )


def _method(row: Table2Row) -> tuple[str, ...]:
    means = (row.exp.mean, row.exp.low, row.exp.high, row.greedy_mean)
    return (row.dataset, row.method, row.preset, str(row.exp.count), *map(measured, means))


def _probability(p: float | None) -> str:
    return "" if p is None else f"{p:.3g}"


def _sizes(size: DatasetSize | None) -> tuple[str, ...]:
    return tuple("" if size is None else str(getattr(size, column)) for column in TABLE1_COLUMNS)


def _text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
