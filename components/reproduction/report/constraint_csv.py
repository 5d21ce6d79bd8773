"""`constraint.csv`: the rows of the study, and how to read them again."""

import csv
import io
from collections.abc import Sequence

from multilogger.components.reproduction.statistics import MeanOverSeeds, measured
from multilogger.components.reproduction.tables.constraint import Arm, ConstraintRow

PLACE = ("dataset", "axis", "level", "objective", "estimator")
MEANS = ("direct", "constrained", "wcrm", "difference")
PARTS = ("seeds", "mean", "low", "high")


def constraint_csv(rows: Sequence[ConstraintRow]) -> str:
    """One line per row: a number of seeds, a mean and its interval for each method and the difference."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*PLACE, *(f"{name}_{part}" for name in MEANS for part in PARTS), "p"))
    for row in rows:
        samples = (row.direct.exp, row.constrained.exp, row.wcrm.exp, row.difference)
        numbers = [text for sample in samples for text in _written(sample)]
        p = "" if row.p is None else f"{row.p:.3g}"
        writer.writerow((*(getattr(row, name) for name in PLACE), *numbers, p))
    return buffer.getvalue()


def read_constraint_csv(text: str) -> list[ConstraintRow]:
    """The rows of a file, without the cells and standard errors that it does not have."""
    return [
        ConstraintRow(
            dataset=line["dataset"],
            axis=line["axis"],
            level=line["level"],
            objective=line["objective"],
            estimator=line["estimator"],
            direct=Arm((), _read(line, "direct")),
            constrained=Arm((), _read(line, "constrained")),
            wcrm=Arm((), _read(line, "wcrm")),
            difference=_read(line, "difference"),
        )
        for line in csv.DictReader(io.StringIO(text))
    ]


def _written(sample: MeanOverSeeds) -> tuple[str, ...]:
    return (str(sample.count), measured(sample.mean), measured(sample.low), measured(sample.high))


def _read(line: dict[str, str], name: str) -> MeanOverSeeds:
    mean, low, high = (_number(line[f"{name}_{part}"]) for part in PARTS[1:])
    return MeanOverSeeds(int(line[f"{name}_seeds"]), mean, low, high, standard_error=None)


def _number(text: str) -> float | None:
    return float(text) if text else None
