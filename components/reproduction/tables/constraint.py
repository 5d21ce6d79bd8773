"""When does the constraint help? EXP of a constrained method minus that of its direct twin, paired by seed.

The study varies one thing at a time, an axis, around a base: the loggers of Table 2, four passes of each,
and all labels. Every point is run under the objective as printed and under ours; the axis `objective` goes
from one to the other in steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    exp_over_seeds,
    grouped,
    paired,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, fixed, mean_over_seeds, p_value

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
    return Arm(tuple(cells), exp_over_seeds(cells))


NAMES = {PRINTED: "the printed objective", OURS: "ours"}


def constraint_paragraph(rows: Sequence[ConstraintRow]) -> str:
    """Where the constraint helps and harms, where most, and whether it beats WCRM; rows of one dataset."""
    sentences = [_counts(rows), _steps(rows), _largest(rows), _wcrm(rows)]
    return " ".join(sentence for sentence in sentences if sentence)


def _counts(rows: Sequence[ConstraintRow]) -> str:
    """Comparisons at which an interval excludes 0, on either side."""
    found = []
    for objective, name in NAMES.items():
        own = [row for row in distinct_points(rows, objective) if row.difference.low is not None]
        if own:
            helps, harms = sum(row.helps for row in own), sum(row.harms for row in own)
            found.append(
                f"under {name} the constraint helps in {helps} of {len(own)} comparisons and harms in {harms}"
            )
    joined = "; ".join(found)
    return f"Against the direct twin, by 95 % intervals that exclude 0, {joined}." if found else ""


def _steps(rows: Sequence[ConstraintRow]) -> str:
    """Steps at which either estimator gains."""
    steps = [row for row in rows if row.axis == STEPS_AXIS and row.is_step]
    steps = [row for row in steps if row.difference.low is not None]
    if not steps:
        return ""
    levels = dict.fromkeys(row.level for row in steps)
    helped = [level for level in levels if any(row.helps for row in steps if row.level == level)]
    where = f" ({'; '.join(helped)})" if helped else ""
    return (
        f"On the way from the printed objective to ours it helps one estimator or both "
        f"at {len(helped)} of {len(levels)} steps{where}."
    )


def _largest(rows: Sequence[ConstraintRow]) -> str:
    """The largest gain among those whose interval excludes 0."""
    if all(row.difference.low is None for row in rows):
        return "One seed has no interval, so nothing can be said of gains."
    gains = [row for row in rows if row.helps and row.difference.mean is not None]
    if not gains:
        return "At no point is there a gain whose interval excludes 0."
    best = min(gains, key=lambda row: row.difference.mean or 0.0)
    ends = (best.difference.mean, best.difference.high, best.difference.low)
    gain, low, high = (fixed(-(end or 0.0), 3) for end in ends)
    return (
        f"The gain is largest {_where(best)}: {best.estimator}-reg is {gain} below {best.estimator} "
        f"({low} to {high})."
    )


def _where(row: ConstraintRow) -> str:
    if row.is_step:
        return f"at the step {row.level!r}".replace("'", '"')
    place = AXES[row.axis].title
    at = f"with all {place.split()[0]}" if row.level == "all" else f"with {place} at {row.level}"
    return f"{at} under {NAMES[row.objective]}"


def _wcrm(rows: Sequence[ConstraintRow]) -> str:
    """At how many points the better of the two constrained methods has a lower mean than WCRM."""
    found = []
    for objective, name in NAMES.items():
        below = _below_wcrm(distinct_points(rows, objective))
        if below:
            found.append(f"at {sum(below)} of {len(below)} points under {name}")
    joined = " and ".join(found)
    return f"The better of the two constrained methods is below WCRM {joined}." if found else ""


def _below_wcrm(rows: Sequence[ConstraintRow]) -> list[bool]:
    """Of each point with both numbers, whether the lower mean of its estimators is below WCRM's."""
    found = []
    for point in dict.fromkeys((row.axis, row.level) for row in rows):
        own = [row for row in rows if (row.axis, row.level) == point]
        means = [row.constrained.exp.mean for row in own if row.constrained.exp.mean is not None]
        if means and own[0].wcrm.exp.mean is not None:
            found.append(min(means) < own[0].wcrm.exp.mean)
    return found
