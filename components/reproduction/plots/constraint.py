"""The study of the constraint as a picture: a panel per axis, paired differences of EXP over its levels."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from multilogger.components.reproduction.names import method_title
from multilogger.components.reproduction.plots.canvas import (
    BACKGROUND,
    INK,
    SERIES,
    Plot,
    Reach,
    as_plot,
    mark_cut,
    sheet,
)
from multilogger.components.reproduction.tables.constraint import (
    AXES,
    ESTIMATORS,
    OURS,
    PRINTED,
    STEPS_AXIS,
    ConstraintRow,
)

SHADES = dict(zip(ESTIMATORS, SERIES, strict=False))
STEP = "a step between"
MARKS = {PRINTED: "printed objective", STEP: STEP, OURS: "ours"}
"""Filled, half filled and open marks, by what the legend calls them."""

APART = 0.13
"""How far marks at one level stand from each other; the width of a level is 1."""

SCALE_REACH = 0.6
"""By how much of the range of all means an interval may go beyond them before it is cut."""


def constraint_picture(name: str, dataset: str, rows: Sequence[ConstraintRow]) -> Plot:
    """The rows of one dataset."""
    title = f"When does the constraint help? · {dataset}"
    with sheet(9.2, 6.6) as drawing:
        panels = drawing.subplots(2, 2, sharey=True, width_ratios=(1.25, 1))
        limits, cut = _limits(rows), 0
        for axes, (axis, about) in zip(panels.flat, AXES.items(), strict=True):
            own = [row for row in rows if row.axis == axis]
            levels = [level for level in about.levels if any(row.level == level for row in own)]
            cut = _panel(axes, own, levels, limits, cut)
            axes.set_title(about.title, loc="left", fontsize=10)
        for axes in panels[:, 0]:
            axes.set_ylabel("EXP, constrained − direct\n(below 0 the constraint helps)")
        _legend(panels[0, 0], rows)
        shown = [pair for axes in panels.flat for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
        drawing.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        drawing.legend(*zip(*shown, strict=True), loc="outside lower left", ncols=3, columnspacing=1.6)
        return as_plot(name, title, drawing)


def _panel(
    axes: Axes,
    rows: Sequence[ConstraintRow],
    levels: Sequence[str],
    limits: tuple[float, float] | None,
    cut: int,
) -> int:
    """The marks of an axis; gives the number of intervals cut in this panel and those before it."""
    axes.axhline(0.0, color=INK, linewidth=1.1, zorder=1)
    reaches = []
    for row in rows:
        if row.difference.mean is None:
            continue
        at, colour = levels.index(row.level) + _aside(row), SHADES[row.estimator]
        low, high = row.difference.low, row.difference.high
        if low is not None and high is not None:
            axes.plot([at, at], [low, high], color=colour, linewidth=1.8, alpha=0.6, zorder=2)
            reaches.append(Reach(at, low, high, colour))
        _mark(axes, [at], [row.difference.mean], _kind(row), colour)
    axes.set_xticks(range(len(levels)), [level.replace(", ", "\n") for level in levels])
    axes.set_xlim(-0.6, max(len(levels), 1) - 0.4)
    axes.tick_params(axis="x", length=0, labelsize=8.5 if len(levels) > 4 else 10)
    axes.tick_params(axis="y", labelleft=True)
    axes.grid(visible=False, axis="x")
    if limits is not None:
        axes.set_ylim(*limits)
    return mark_cut(axes, reaches, upright=True, count=cut)


def _kind(row: ConstraintRow) -> str:
    """Which mark a row has; the first step is the printed objective itself."""
    if not row.is_step:
        return row.objective
    return PRINTED if row.level == AXES[STEPS_AXIS].base else STEP


def _mark(axes: Axes, x: list[float], y: list[float], kind: str, colour: str, label: str = "") -> None:
    axes.plot(
        x,
        y,
        "o",
        color=colour,
        fillstyle="left" if kind == STEP else "full",
        markerfacecolor=BACKGROUND if kind == OURS else colour,
        markerfacecoloralt=BACKGROUND,
        markersize=6.5,
        markeredgewidth=1.4,
        zorder=3,
        label=label or None,
    )


def _aside(row: ConstraintRow) -> float:
    """Naive left, weighted right; the printed objective, or a step, before ours."""
    return APART * (2 * ESTIMATORS.index(row.estimator) + (row.objective == OURS) - 1.5)


def _limits(rows: Sequence[ConstraintRow]) -> tuple[float, float] | None:
    """One scale for all panels that holds every mean and 0; what few seeds leave open is cut, and marked."""
    means = [row.difference.mean for row in rows if row.difference.mean is not None]
    if not means:
        return None
    low, high = min(0.0, *means), max(0.0, *means)
    reach = SCALE_REACH * (high - low) or 0.1
    ends = [end for row in rows for end in (row.difference.low, row.difference.high) if end is not None]
    pad = 0.05 * (high - low) or 0.1
    bottom = max(low - reach, min([low, *ends]) - pad)
    return min(bottom, low - pad), max(min(high + reach, max([high, *ends]) + pad), high + pad)


def _legend(axes: Axes, rows: Sequence[ConstraintRow]) -> None:
    for estimator, colour in SHADES.items():
        axes.plot([], [], "-", color=colour, linewidth=2.4, label=method_title(estimator))
    shown = {_kind(row) for row in rows}
    for kind, label in MARKS.items():
        if kind in shown:
            _mark(axes, [], [], kind, INK, label)
