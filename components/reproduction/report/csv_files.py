"""The CSV files of a reproduction: fixed columns, fixed number formats, empty where there is no number."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from multilogger.components.reproduction.claims.verdicts import Claim
from multilogger.components.reproduction.results import (
    CellResult,
    DatasetSize,
    Reproduction,
    failed_cells,
    failure_reason,
    sweep_position,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, fixed, measured, number
from multilogger.components.reproduction.tables.constraint import Arm, ConstraintRow
from multilogger.components.reproduction.tables.one_of import OneOfRow
from multilogger.components.reproduction.tables.paper_tables import Table1Row, Table2Row
from multilogger.components.reproduction.tables.studies import AdditivityRow, ChoiceRow, LoggerStudyRow
from multilogger.components.reproduction.tables.sweeps import AXES, SweepRow

Line = Mapping[str, str | int]
"""A row of a file, by column; all rows of a file have the same columns."""

SIZES = ("features", "labels", "n_train", "n_test", "actions")
STUDY_PLACE = ("dataset", "axis", "level", "objective", "estimator")


def table1_csv(rows: Sequence[Table1Row]) -> str:
    return _text(
        {"dataset": row.ours.dataset} | _sizes("", row.ours) | _sizes("paper_", row.paper) for row in rows
    )


def table2_csv(rows: Sequence[Table2Row]) -> str:
    """The last column says `same` of a row that repeats its direct twin."""
    return _text(
        _method(row) | {"paper": fixed(row.paper, 3), "constraint": "same" if row.repeats_twin else ""}
        for row in rows
    )


def one_of_csv(rows: Sequence[OneOfRow]) -> str:
    """Of the datasets whose action is one of K; the last column is that of `table2_csv`."""
    return _text(
        {
            **_who(row),
            **_sample("exp", row.exp),
            **_sample("error", row.error),
            **_sample("full_ratio", row.full_ratio),
            **_sample("twin_change", row.twin_change),
            "constraint": "same" if row.repeats_twin else "",
        }
        for row in rows
    )


def read_one_of_csv(text: str) -> list[OneOfRow]:
    """The rows of a file, without the standard errors that it does not have."""
    return [
        OneOfRow(
            *(line[name] for name in ("dataset", "method", "preset")),
            *(_read(line, name) for name in ("exp", "error", "full_ratio", "twin_change")),
            repeats_twin=line["constraint"] == "same",
        )
        for line in csv.DictReader(io.StringIO(text))
    ]


def claims_csv(claims: Sequence[Claim]) -> str:
    """One row per test; a verdict is by the test's own 95 % interval, `holm_p` is corrected in its preset."""
    return _text(
        {
            "claim": claim.name,
            "statement": claim.statement,
            "dataset": test.dataset,
            "preset": test.preset,
            "comparison": test.comparison,
            "seeds": test.sample.count,
            **_mean("difference", test.sample),
            "p": _probability(test.p),
            "holm_p": _probability(test.adjusted_p),
            "verdict": test.verdict.value,
            "paper_difference": measured(test.paper_value),
        }
        for claim in claims
        for test in claim.tests
    )


def pairwise_csv(rows: Sequence[Table2Row]) -> str:
    return _text(_method(row) for row in rows)


def additivity_csv(rows: Sequence[AdditivityRow]) -> str:
    return _text(
        {
            "dataset": row.dataset,
            "preset": row.preset,
            "seeds": len(row.p_values),
            "rejected_seeds": row.rejected,
            "rejected_share": measured(row.rejected_share),
            "median_p": _probability(row.median_p),
        }
        for row in rows
    )


def sweep_csv(figure: str, rows: Sequence[SweepRow]) -> str:
    return _text(
        {
            "dataset": row.dataset,
            AXES[figure]: number(row.x),
            "method": row.method,
            "preset": row.preset,
            "seeds": row.inverse.count,
            **_mean("inverse_exp", row.inverse),
            "exp_mean": measured(row.exp_mean),
            "paper": fixed(row.paper, 4),
        }
        for row in rows
    )


def choices_csv(rows: Sequence[ChoiceRow]) -> str:
    return _text(
        {
            **_who(row),
            "choice": row.choice,
            "seeds": row.exp.count,
            "exp_mean": measured(row.exp.mean),
            "paired_seeds": row.difference.count,
            **_mean("difference", row.difference),
            "p": _probability(row.p),
        }
        for row in rows
    )


def loggers_csv(rows: Sequence[LoggerStudyRow]) -> str:
    return _text(
        {
            **_who(row),
            "loggers": row.loggers,
            "seeds": row.exp.count,
            **_mean("exp", row.exp),
        }
        for row in rows
    )


def constraint_csv(rows: Sequence[ConstraintRow]) -> str:
    """One line per row: a number of seeds, a mean and its interval for each method and the difference."""
    return _text(
        {
            **{name: getattr(row, name) for name in STUDY_PLACE},
            **_sample("direct", row.direct.exp),
            **_sample("constrained", row.constrained.exp),
            **_sample("wcrm", row.wcrm.exp),
            **_sample("difference", row.difference),
            "p": _probability(row.p),
        }
        for row in rows
    )


def read_constraint_csv(text: str) -> list[ConstraintRow]:
    """The rows of a file, without the cells and standard errors that it does not have."""
    return [
        ConstraintRow(
            **{name: line[name] for name in STUDY_PLACE},
            direct=Arm((), _read(line, "direct")),
            constrained=Arm((), _read(line, "constrained")),
            wcrm=Arm((), _read(line, "wcrm")),
            difference=_read(line, "difference"),
        )
        for line in csv.DictReader(io.StringIO(text))
    ]


def failed_csv(reproduction: Reproduction) -> str:
    return _text(
        {
            "part": part,
            **_who(cell),
            "seed": cell.seed,
            "position": sweep_position(cell),
            "reason": failure_reason(cell),
        }
        for part, cell in failed_cells(reproduction)
    )


def _method(row: Table2Row) -> dict[str, str | int]:
    return {
        **_who(row),
        "seeds": row.exp.count,
        **_mean("exp", row.exp),
        "greedy_mean": measured(row.greedy_mean),
    }


def _who(row: Table2Row | OneOfRow | ChoiceRow | LoggerStudyRow | CellResult) -> dict[str, str]:
    return {"dataset": row.dataset, "method": row.method, "preset": row.preset}


def _sizes(prefix: str, size: DatasetSize | None) -> dict[str, str]:
    """The paper's are all of labels."""
    names = SIZES if not prefix else SIZES[:-1]
    return {f"{prefix}{name}": "" if size is None else str(getattr(size, name)) for name in names}


def _sample(name: str, sample: MeanOverSeeds) -> dict[str, str | int]:
    return {f"{name}_seeds": sample.count, **_mean(name, sample)}


def _mean(name: str, sample: MeanOverSeeds) -> dict[str, str]:
    ends = {"mean": sample.mean, "low": sample.low, "high": sample.high}
    return {f"{name}_{part}": measured(value) for part, value in ends.items()}


def _read(line: Mapping[str, str], name: str) -> MeanOverSeeds:
    texts = (line[f"{name}_{part}"] for part in ("mean", "low", "high"))
    mean, low, high = (float(text) if text else None for text in texts)
    return MeanOverSeeds(int(line[f"{name}_seeds"]), mean, low, high, standard_error=None)


def _probability(p: float | None) -> str:
    return "" if p is None else f"{p:.3g}"


def _text(lines: Iterable[Line]) -> str:
    """Lines under the names of their columns; no lines are no file."""
    written = list(lines)
    if not written:
        return ""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(written[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(written)
    return buffer.getvalue()
