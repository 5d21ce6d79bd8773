"""When does the constraint help? EXP of a constrained method minus that of its direct twin, paired by seed.

The study varies one thing at a time, an axis, around a base: the loggers of Table 2, four passes of each,
and all labels. Every point is run under the objective as printed and under ours; the axis `objective` goes
from one to the other in steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    grouped,
    paired,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds, p_value

ESTIMATORS = ("naive", "weighted")
BASELINE = "wcrm"
PRINTED, OURS = "printed", "ours"
STEPS_AXIS = "objective"


@dataclass(frozen=True)
class Axis:
    """What is varied, the levels in order, and the one that all axes share."""

    title: str
    levels: tuple[str, ...]
    base: str


AXES: dict[str, Axis] = {
    STEPS_AXIS: Axis(
        "from the printed objective to ours",
        tuple(f"{share} shift, {weights}" for weights in ("raw", "cut") for share in ("no", "half", "whole")),
        "no shift, raw",
    ),
    "passes": Axis("replay passes of each logger", ("1", "2", "4", "16"), "4"),
    "alpha": Axis("alpha of logger 2", ("0.5", "1", "2", "4"), "2"),
    "labels": Axis("labels kept", ("2", "4", "8", "all"), "all"),
}
"""The axes of the study by name."""


@dataclass(frozen=True)
class Arm:
    """One method at a point: its cells by seed, and EXP over those that succeeded."""

    cells: tuple[CellResult, ...]
    exp: MeanOverSeeds


@dataclass(frozen=True)
class ConstraintRow:
    """An estimator at a point. `difference` is EXP of `<estimator>-reg` minus that of its direct twin.

    `objective` is `printed` or `ours`; a step between them has its own name, which is its level too.
    """

    dataset: str
    axis: str
    level: str
    objective: str
    estimator: str
    direct: Arm
    constrained: Arm
    wcrm: Arm
    difference: MeanOverSeeds

    @property
    def p(self) -> float | None:
        return p_value(self.difference, 0.0)

    @property
    def helps(self) -> bool:
        """Whether the whole 95 % interval of the difference is below 0."""
        return self.difference.high is not None and self.difference.high < 0

    @property
    def harms(self) -> bool:
        """Whether it is above 0."""
        return self.difference.low is not None and self.difference.low > 0

    @property
    def is_step(self) -> bool:
        return self.objective not in (PRINTED, OURS)


def constraint_rows(reproduction: Reproduction) -> list[ConstraintRow]:
    """Rows by dataset, axis, level, objective (the steps, printed, ours) and estimator."""
    datasets = datasets_in_order(reproduction)
    points = grouped(reproduction.constraint, lambda c: (c.dataset, c.axis, c.level, c.objective))
    rows = [_row(cells, estimator) for cells in points.values() for estimator in ESTIMATORS]
    return sorted(rows, key=lambda row: (datasets.index(row.dataset), *_place(row)))


def distinct_points(rows: Iterable[ConstraintRow], objective: str) -> list[ConstraintRow]:
    """The rows of an objective, those of the base once although every axis has them."""
    own = [row for row in rows if row.objective == objective and row.axis != STEPS_AXIS]
    axes = list(dict.fromkeys(row.axis for row in own))
    return [row for row in own if row.axis == axes[0] or row.level != AXES[row.axis].base]


def _place(row: ConstraintRow) -> tuple[int, int, int, int]:
    return (
        list(AXES).index(row.axis),
        AXES[row.axis].levels.index(row.level),
        (PRINTED, OURS).index(row.objective) + 1 if not row.is_step else 0,
        ESTIMATORS.index(row.estimator),
    )


def _row(cells: list[CellResult], estimator: str) -> ConstraintRow:
    first = cells[0]
    direct, constrained, wcrm = (
        [cell for cell in cells if cell.method == method]
        for method in (estimator, f"{estimator}-reg", BASELINE)
    )
    pairs = paired(exp_by_seed(constrained), exp_by_seed(direct))
    return ConstraintRow(
        dataset=first.dataset,
        axis=first.axis,
        level=first.level,
        objective=first.objective,
        estimator=estimator,
        direct=_arm(direct),
        constrained=_arm(constrained),
        wcrm=_arm(wcrm),
        difference=mean_over_seeds([reg - twin for reg, twin in pairs]),
    )


def _arm(cells: list[CellResult]) -> Arm:
    return Arm(tuple(cells), mean_over_seeds(list(exp_by_seed(cells).values())))
