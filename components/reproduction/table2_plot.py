"""Table 2 as a picture: one dataset, a row a method, ours with its interval, the paper's number hollow."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from multilogger.components.reproduction.method_names import MethodGroup, method_group, method_title
from multilogger.components.reproduction.plots import (
    GRID,
    INK,
    MUTED,
    SERIES,
    Picture,
    Reach,
    canvas,
    encoded,
    mark_cut,
)
from multilogger.components.reproduction.table2 import Table2Row

ROW_HEIGHT = 0.33
COLOURS = {MethodGroup.LOGGER: MUTED, MethodGroup.LEARNED: SERIES[0], MethodGroup.REFERENCE: MUTED}


def method_picture(name: str, title: str, rows: list[Table2Row]) -> Picture:
    """The rows of one dataset; the axis is logarithmic because the loggers are far off."""
    with canvas(5.6, 1.5 + ROW_HEIGHT * len(rows)) as (drawing, axes):
        for place, row in enumerate(rows):
            _row(axes, place, row)
        for place in range(1, len(rows)):
            if method_group(rows[place].method) != method_group(rows[place - 1].method):
                axes.axhline(place - 0.5, color=GRID, linewidth=1.2)
        axes.set_yticks(range(len(rows)), [_label(row, rows) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        _scale(axes, rows)
        mark_cut(axes, _reaches(rows), upright=False)
        axes.set_xlabel("EXP on test, log scale  (lower is better)")
        drawing.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        axes.plot([], [], "o", color=SERIES[0], markersize=5.5, label="ours, 95 % interval over seeds")
        if any(row.paper is not None for row in rows):
            axes.plot([], [], "D", color=INK, markerfacecolor="none", markersize=5, label="paper")
        drawing.legend(loc="outside lower left", ncols=2)
        return encoded(name, title, drawing)


def _row(axes: Axes, place: int, row: Table2Row) -> None:
    colour = COLOURS[method_group(row.method)]
    if row.exp.low is not None and row.exp.high:
        axes.plot(
            [max(row.exp.low, 1e-6), row.exp.high], [place, place], color=colour, linewidth=2.4, alpha=0.55
        )
    if row.exp.mean:
        axes.plot([row.exp.mean], [place], "o", color=colour, markersize=5.5, zorder=3)
    if row.paper is not None:
        axes.plot([row.paper], [place], "D", color=INK, markerfacecolor="none", markersize=5, zorder=4)


def _reaches(rows: list[Table2Row]) -> list[Reach]:
    ends = [(place, row.exp.low, row.exp.high, row.method) for place, row in enumerate(rows)]
    return [
        Reach(place, low, high, COLOURS[method_group(method)])
        for place, low, high, method in ends
        if low is not None and high is not None
    ]


def _scale(axes: Axes, rows: list[Table2Row]) -> None:
    """The axis holds every mean; an interval of few seeds is cut and marked, or it would squeeze the rest."""
    values = [v for r in rows for v in (r.exp.mean, r.paper) if v]
    axes.set_xscale("log")
    if values:
        axes.set_xlim(min(values) * 0.88, max(values) * 1.12)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)


def _label(row: Table2Row, rows: list[Table2Row]) -> str:
    several = len({other.preset for other in rows if other.method == row.method}) > 1
    return f"{method_title(row.method)} ({row.preset})" if several else method_title(row.method)
