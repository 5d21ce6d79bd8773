"""Table 2 as a picture: one dataset, one row per method, ours with its interval, the paper's number hollow.

Several presets stand below each other in a method's row, each in a colour of its own.
"""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from multilogger.components.reproduction.names import MethodGroup, method_group, method_title, preset_title
from multilogger.components.reproduction.plots.canvas import (
    GRID,
    INK,
    MUTED,
    SERIES,
    Plot,
    Reach,
    as_plot,
    canvas,
    mark_cut,
)
from multilogger.components.reproduction.tables.paper_tables import (
    SAME_AS_DIRECT,
    MethodLine,
    Table2Row,
    method_lines,
    shown_presets,
)

ROW_HEIGHT = 0.33
STEP = 0.24
"""How far apart presets are in the row of a method, rows being 1 apart."""

PRESET_COLOURS = {"paper": SERIES[1], "printed-objective": SERIES[2]}


def method_picture(name: str, title: str, rows: list[Table2Row], greedy: str = "") -> Plot:
    """The rows of one dataset; the axis is logarithmic because the loggers are far off.

    `greedy` is what the loss of the most likely action is called, which is shown as well if it has a name.
    """
    presets, lines = shown_presets(rows), method_lines(rows)
    height = ROW_HEIGHT * (1 + STEP * (len(presets) - 1))
    with canvas(5.6, 1.5 + height * len(lines)) as (drawing, axes):
        reaches = [
            _mark(axes, place + _shift(line, preset), row, _colour(line, preset))
            for place, line in enumerate(lines)
            for preset, row in line.rows.items()
            if not row.repeats_twin
        ]
        if greedy:
            _mark_greedy(axes, lines)
        for place, line in enumerate(lines):
            if line.paper is not None:
                axes.plot(
                    [line.paper], [place], "D", color=INK, markerfacecolor="none", markersize=5, zorder=4
                )
            if place and method_group(line.method) != method_group(lines[place - 1].method):
                axes.axhline(place - 0.5, color=GRID, linewidth=1.2)
        axes.set_yticks(range(len(lines)), [_label(line) for line in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        _scale(axes, rows, bool(greedy))
        mark_cut(axes, [reach for reach in reaches if reach is not None], upright=False)
        several = len(presets) > 1
        shown = f"EXP and {greedy}" if greedy else "EXP"
        axes.set_xlabel(
            f"{shown} on test, log scale{', 95 % intervals' if several else ''}  (lower is better)"
        )
        drawing.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        for preset in presets:
            colour = PRESET_COLOURS.get(preset, SERIES[0]) if several else SERIES[0]
            said = f"{'EXP' if greedy else 'ours'}, 95 % interval over seeds"
            said = preset_title(preset) if several else said
            axes.plot([], [], "o", color=colour, markersize=5.5, label=said)
        if greedy:
            said = f"{greedy} of the most likely action"
            axes.plot([], [], "s", color=MUTED, markerfacecolor="none", markersize=5, label=said)
        if any(row.paper is not None for row in rows):
            axes.plot([], [], "D", color=INK, markerfacecolor="none", markersize=5, label="paper")
        drawing.legend(loc="outside lower left", ncols=2)
        return as_plot(name, title, drawing)


def _shift(line: MethodLine, preset: str) -> float:
    """Presets of a method about the middle of its row."""
    return STEP * (list(line.rows).index(preset) - (len(line.rows) - 1) / 2)


def _colour(line: MethodLine, preset: str) -> str:
    """That of the preset, or of the method's group if there is but one."""
    if line.only is None:
        return PRESET_COLOURS.get(preset, SERIES[0])
    return SERIES[0] if method_group(line.method) is MethodGroup.LEARNED else MUTED


def _mark(axes: Axes, place: float, row: Table2Row, colour: str) -> Reach | None:
    """A mean and its interval; returns the interval, which the axis may cut."""
    if row.exp.mean:
        axes.plot([row.exp.mean], [place], "o", color=colour, markersize=5.5, zorder=3)
    if row.exp.low is None or row.exp.high is None:
        return None
    if row.exp.high:
        ends = [max(row.exp.low, 1e-6), row.exp.high]
        axes.plot(ends, [place, place], color=colour, linewidth=2.4, alpha=0.55)
    return Reach(place, row.exp.low, row.exp.high, colour)


def _mark_greedy(axes: Axes, lines: list[MethodLine]) -> None:
    """A hollow square at the greedy loss of each row."""
    for place, line in enumerate(lines):
        for preset, row in line.rows.items():
            if row.greedy.mean and not row.repeats_twin:
                height, colour = place + _shift(line, preset), _colour(line, preset)
                axes.plot([row.greedy.mean], [height], "s", color=colour, markerfacecolor="none", zorder=4)


def _label(line: MethodLine) -> str:
    """The method's name; one whose constraint is open under every preset has no mark, and says why."""
    open_everywhere = all(row.repeats_twin for row in line.rows.values())
    return f"{method_title(line.method)} ({SAME_AS_DIRECT})" if open_everywhere else method_title(line.method)


def _scale(axes: Axes, rows: list[Table2Row], with_greedy: bool) -> None:
    """The axis holds every mean; an interval of few seeds is cut and marked, or it would squeeze the rest."""
    values = [v for r in rows for v in (r.exp.mean, r.paper, r.greedy.mean if with_greedy else None) if v]
    axes.set_xscale("log")
    if values:
        axes.set_xlim(min(values) * 0.88, max(values) * 1.12)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
