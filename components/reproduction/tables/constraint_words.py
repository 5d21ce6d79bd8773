"""What the study of the constraint found, in a paragraph that is written from its rows."""

from collections.abc import Sequence

from multilogger.components.reproduction.statistics import fixed
from multilogger.components.reproduction.tables.constraint import (
    AXES,
    OURS,
    PRINTED,
    STEPS_AXIS,
    ConstraintRow,
    distinct_points,
)

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
