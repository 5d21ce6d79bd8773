"""Datasets whose action is one of K, beside Table 2: two numbers per method, and what they show in words.

EXP is the expected loss of the policy, the error that of its most likely action; both from 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from multilogger.components.reproduction.names import MethodGroup, method_group, method_title
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    paired,
    succeeded,
)
from multilogger.components.reproduction.statistics import (
    MeanOverSeeds,
    fixed,
    loss_digits,
    mean_over_seeds,
    ratio_over_seeds,
)
from multilogger.components.reproduction.tables.paper_tables import Table2Row, method_rows

FULL = "full-information"
"""What is left to gain."""


@dataclass(frozen=True)
class OneOfRow:
    """A method on a dataset.

    `full_ratio` is its error over that of `FULL`, `twin_change` the EXP of a `-reg` method minus that of its
    direct twin; both paired by seed, and empty (no seeds) where there is nothing to compare with.
    """

    dataset: str
    method: str
    preset: str
    exp: MeanOverSeeds
    error: MeanOverSeeds
    full_ratio: MeanOverSeeds
    twin_change: MeanOverSeeds
    repeats_twin: bool


def one_of_table(reproduction: Reproduction) -> list[Table2Row]:
    """The cells in rows, as Table 2 has them."""
    return method_rows(reproduction.one_of, datasets_in_order(reproduction))


def one_of_rows(table: Sequence[Table2Row]) -> list[OneOfRow]:
    """The rows of a table with what they are compared with."""
    return [_row(row, _full(table, row)) for row in table]


def one_of_paragraph(rows: Sequence[OneOfRow]) -> str:
    """What the rows of one dataset show, in sentences."""
    return " ".join([*_best_sentence(rows), *_twin_sentence(rows)])


@dataclass(frozen=True)
class CalibrationRow:
    """The tests of a method's loss model on a dataset, one per seed: how many are off, and the median p."""

    dataset: str
    method: str
    preset: str
    p_values: tuple[float, ...]
    off: int

    @property
    def median_p(self) -> float:
        return median(self.p_values)


def calibration_rows(table: Sequence[Table2Row]) -> list[CalibrationRow]:
    """Of the methods that have such a model."""
    found = []
    for row in table:
        tested = [cell for cell in row.cells if cell.calibration_p is not None]
        values = tuple(cell.calibration_p for cell in tested if cell.calibration_p is not None)
        off = sum(bool(cell.calibration_off) for cell in tested)
        found += [CalibrationRow(row.dataset, row.method, row.preset, values, off)] if values else []
    return found


def _row(row: Table2Row, full: Sequence[CellResult]) -> OneOfRow:
    twin = paired(exp_by_seed(row.cells), exp_by_seed(row.twin))
    return OneOfRow(
        row.dataset,
        row.method,
        row.preset,
        row.exp,
        row.greedy,
        ratio_over_seeds(paired(_errors(row.cells), _errors(full))),
        mean_over_seeds([constrained - direct for constrained, direct in twin]),
        row.repeats_twin,
    )


def _full(table: Sequence[Table2Row], row: Table2Row) -> tuple[CellResult, ...]:
    """The cells of `FULL` on the row's dataset; it does not depend on the preset."""
    return next((r.cells for r in table if (r.dataset, r.method) == (row.dataset, FULL)), ())


def _errors(cells: Sequence[CellResult]) -> dict[int, float]:
    """The error of the cells that succeeded, by seed."""
    return {cell.seed: cell.greedy for cell in cells if succeeded(cell) and cell.greedy is not None}


def _best_sentence(rows: Sequence[OneOfRow]) -> list[str]:
    """The method of least EXP among those that see the log alone, against full information."""
    learned = [
        row for row in rows if row.exp.mean is not None and method_group(row.method) is MethodGroup.LEARNED
    ]
    if not learned:
        return []
    best = min(learned, key=lambda row: row.exp.mean or 0.0)
    said = f"Of the methods that learn from the log alone, {method_title(best.method)} has the least EXP, "
    said += f"{_number(best.exp)}, and an error of {_number(best.error)}"
    if best.full_ratio.mean is None:
        return [f"{said}."]
    ratio = f"{fixed(best.full_ratio.mean, 2)} times that of {method_title(FULL)}"
    return [f"{said}, {ratio}{_ends(best.full_ratio, 2)}."]


def _twin_sentence(rows: Sequence[OneOfRow]) -> list[str]:
    """Each constrained method against its direct twin."""
    compared = [row for row in rows if row.twin_change.mean is not None]
    if not compared:
        return []
    several = len({row.preset for row in compared}) > 1
    changes = [
        f"{method_title(row.method)}{f' ({row.preset})' if several else ''} {_change(row)}"
        for row in compared
    ]
    return [f"Against its direct twin, the constraint changes EXP: {'; '.join(changes)}."]


def _change(row: OneOfRow) -> str:
    """`by -0.0030 (-0.0050 to -0.0010), it helps`."""
    change = row.twin_change
    if row.repeats_twin or change.mean is None:
        return "not at all"
    text = f"by {change.mean:+.4f}"
    if change.low is None or change.high is None:
        return text
    verdict = "it helps" if change.high < 0 else "it harms" if change.low > 0 else "undecided"
    return f"{text} (95 % {change.low:+.4f} to {change.high:+.4f}), {verdict}"


def _number(sample: MeanOverSeeds) -> str:
    digits = loss_digits(sample.mean)
    spread = "" if sample.half_width is None else f" ± {fixed(sample.half_width, digits)}"
    return f"{fixed(sample.mean, digits)}{spread}"


def _ends(sample: MeanOverSeeds, digits: int) -> str:
    if sample.low is None or sample.high is None:
        return ""
    return f" (95 % {fixed(sample.low, digits)} to {fixed(sample.high, digits)})"
