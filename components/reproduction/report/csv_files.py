"""The CSV files of a reproduction: fixed columns, fixed number formats, empty where there is no number."""

import csv
import io
from collections.abc import Sequence

from multilogger.components.reproduction.claims.verdicts import Claim
from multilogger.components.reproduction.report.csv_text import (
    csv_text,
    mean_columns,
    probability_text,
    read_sample,
    sample_columns,
    who_columns,
)
from multilogger.components.reproduction.results import (
    DatasetSize,
    Reproduction,
    failed_cells,
    failure_reason,
    sweep_position,
)
from multilogger.components.reproduction.statistics import fixed, measured, number
from multilogger.components.reproduction.tables.constraint import Arm, ConstraintRow
from multilogger.components.reproduction.tables.paper_tables import Table1Row, Table2Row
from multilogger.components.reproduction.tables.studies import AdditivityRow, ChoiceRow, LoggerStudyRow
from multilogger.components.reproduction.tables.sweeps import AXES, SweepRow

SIZES = ("features", "labels", "n_train", "n_test", "actions")
STUDY_PLACE = ("dataset", "axis", "level", "objective", "estimator")


def table1_csv(rows: Sequence[Table1Row]) -> str:
    return csv_text(
        {"dataset": row.ours.dataset} | _sizes("", row.ours) | _sizes("paper_", row.paper) for row in rows
    )


def table2_csv(rows: Sequence[Table2Row]) -> str:
    """The last column says `same` of a row that repeats its direct twin."""
    return csv_text(
        _method(row) | {"paper": fixed(row.paper, 3), "constraint": "same" if row.repeats_twin else ""}
        for row in rows
    )


def claims_csv(claims: Sequence[Claim]) -> str:
    """One row per test; a verdict is by the test's own 95 % interval, `holm_p` is corrected in its preset."""
    return csv_text(
        {
            "claim": claim.name,
            "statement": claim.statement,
            "dataset": test.dataset,
            "preset": test.preset,
            "comparison": test.comparison,
            "seeds": test.sample.count,
            **mean_columns("difference", test.sample),
            "p": probability_text(test.p),
            "holm_p": probability_text(test.adjusted_p),
            "verdict": test.verdict.value,
            "paper_difference": measured(test.paper_value),
        }
        for claim in claims
        for test in claim.tests
    )


def pairwise_csv(rows: Sequence[Table2Row]) -> str:
    return csv_text(_method(row) for row in rows)


def additivity_csv(rows: Sequence[AdditivityRow]) -> str:
    return csv_text(
        {
            "dataset": row.dataset,
            "preset": row.preset,
            "seeds": len(row.p_values),
            "rejected_seeds": row.rejected,
            "rejected_share": measured(row.rejected_share),
            "median_p": probability_text(row.median_p),
        }
        for row in rows
    )


def sweep_csv(figure: str, rows: Sequence[SweepRow]) -> str:
    return csv_text(
        {
            "dataset": row.dataset,
            AXES[figure]: number(row.x),
            "method": row.method,
            "preset": row.preset,
            "seeds": row.inverse.count,
            **mean_columns("inverse_exp", row.inverse),
            "exp_mean": measured(row.exp_mean),
            "paper": fixed(row.paper, 4),
        }
        for row in rows
    )


def choices_csv(rows: Sequence[ChoiceRow]) -> str:
    return csv_text(
        {
            **who_columns(row),
            "choice": row.choice,
            "seeds": row.exp.count,
            "exp_mean": measured(row.exp.mean),
            "paired_seeds": row.difference.count,
            **mean_columns("difference", row.difference),
            "p": probability_text(row.p),
        }
        for row in rows
    )


def loggers_csv(rows: Sequence[LoggerStudyRow]) -> str:
    return csv_text(
        {
            **who_columns(row),
            "loggers": row.loggers,
            "seeds": row.exp.count,
            **mean_columns("exp", row.exp),
        }
        for row in rows
    )


def constraint_csv(rows: Sequence[ConstraintRow]) -> str:
    """One line per row: a number of seeds, a mean and its interval for each method and the difference."""
    return csv_text(
        {
            **{name: getattr(row, name) for name in STUDY_PLACE},
            **sample_columns("direct", row.direct.exp),
            **sample_columns("constrained", row.constrained.exp),
            **sample_columns("wcrm", row.wcrm.exp),
            **sample_columns("difference", row.difference),
            "p": probability_text(row.p),
        }
        for row in rows
    )


def read_constraint_csv(text: str) -> list[ConstraintRow]:
    """The rows of a file, without the cells and standard errors that it does not have."""
    return [
        ConstraintRow(
            **{name: line[name] for name in STUDY_PLACE},
            direct=Arm((), read_sample(line, "direct")),
            constrained=Arm((), read_sample(line, "constrained")),
            wcrm=Arm((), read_sample(line, "wcrm")),
            difference=read_sample(line, "difference"),
        )
        for line in csv.DictReader(io.StringIO(text))
    ]


def failed_csv(reproduction: Reproduction) -> str:
    return csv_text(
        {
            "part": part,
            **who_columns(cell),
            "seed": cell.seed,
            "position": sweep_position(cell),
            "reason": failure_reason(cell),
        }
        for part, cell in failed_cells(reproduction)
    )


def _method(row: Table2Row) -> dict[str, str | int]:
    return {
        **who_columns(row),
        "seeds": row.exp.count,
        **mean_columns("exp", row.exp),
        "greedy_mean": measured(row.greedy_mean),
    }


def _sizes(prefix: str, size: DatasetSize | None) -> dict[str, str]:
    """The paper's are all of labels."""
    names = SIZES if not prefix else SIZES[:-1]
    return {f"{prefix}{name}": "" if size is None else str(getattr(size, name)) for name in names}
