"""Figures 1 to 3: our curves with their interval bands, the paper's dashed beside them."""

from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from multilogger.components.reproduction.names import OURS, method_title, preset_title
from multilogger.components.reproduction.paper_figures import FIGURE_DATASET, paper_sweep
from multilogger.components.reproduction.plots.canvas import (
    INK,
    MUTED,
    SERIES,
    Plot,
    Reach,
    as_plot,
    canvas,
    mark_cut,
    spread,
)
from multilogger.components.reproduction.tables.sweeps import SweepRow

LINE_STYLES = (":", "-.", (0, (4, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 3)))
SHADES = {"naive": SERIES[0], "naive-reg": SERIES[0], "weighted": SERIES[1], "weighted-reg": SERIES[1]}
"""The paper's blue and red, in a palette that everybody can tell apart."""

AXIS_NAMES = {
    "figure1": "replay count of logger $h_1$",
    "figure2": "temperature τ",
    "figure3": "temperature τ",
}
TITLES = {
    "figure1": "Figure 1: more data from the random logger",
    "figure2": "Figure 2: temperature, naive",
    "figure3": "Figure 3: temperature, weighted",
}


def sweep_picture(name: str, figure: str, preset: str, rows: list[SweepRow]) -> Plot:
    """One dataset's rows of a figure under a preset, which the title names unless it is ours."""
    dataset = rows[0].dataset
    where = [dataset, *([preset_title(preset)] if preset not in ("", OURS) else [])]
    with canvas(5.6, 4.6) as (drawing, axes):
        curves = [row for row in rows if row.x is not None]
        spare = iter(SERIES[2:] * 9)
        reaches = []
        for method, group in groupby(curves, key=lambda r: r.method):
            colour, points = SHADES.get(method) or next(spare), list(group)
            reaches += _reaches(points, colour)
            _curve(axes, points, colour, method_title(method))
            _paper_curve(axes, figure, dataset, method, colour)
        for index, row in enumerate(row for row in rows if row.x is None):
            reaches += _reaches([row], SHADES.get(row.method, INK))
            _line(axes, row, index, method_title(row.method))
        _paper_lines(axes, [row for row in rows if row.x is None])
        _scale(axes, figure, sorted({row.x for row in curves if row.x is not None}))
        _limit(axes, rows)
        mark_cut(axes, reaches, upright=True)
        axes.set_ylabel("1 / EXP  (higher is better)")
        axes.set_xlabel(AXIS_NAMES[figure])
        # A preset's name would not fit on the line of the title.
        title = (
            f"{TITLES[figure]} · {dataset}" if len(where) == 1 else f"{TITLES[figure]}\n{' · '.join(where)}"
        )
        axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", pad=10)
        handles, labels = axes.get_legend_handles_labels()
        drawing.legend(
            handles, labels, loc="outside lower left", ncols=2, handlelength=3.2, columnspacing=1.6
        )
        return as_plot(name, ", ".join((TITLES[figure], *where)), drawing)


def _reaches(rows: list[SweepRow], colour: str) -> list[Reach]:
    ends = [(row.x, row.inverse.low, row.inverse.high) for row in rows]
    return [Reach(x, low, high, colour) for x, low, high in ends if low is not None and high is not None]


def _curve(axes: Axes, points: list[SweepRow], colour: str, label: str) -> None:
    known = [p for p in points if p.x is not None and p.inverse.mean is not None]
    x = [p.x or 0.0 for p in known]
    axes.plot(
        x, [p.inverse.mean or 0.0 for p in known], "-o", color=colour, markersize=4.5, label=label, zorder=3
    )
    band = spread([p.inverse.low for p in known], [p.inverse.high for p in known])
    if band:
        axes.fill_between(x, band[0], band[1], color=colour, alpha=0.16, linewidth=0)


def _paper_curve(axes: Axes, figure: str, dataset: str, method: str, colour: str) -> None:
    printed = paper_sweep(figure).curves.get(method, {}) if dataset == FIGURE_DATASET else {}
    if printed:
        axes.plot(
            list(printed),
            list(printed.values()),
            "--o",
            color=colour,
            markerfacecolor="none",
            markersize=4.5,
            linewidth=1.1,
            label=f"{method_title(method)}, paper",
        )


def _line(axes: Axes, row: SweepRow, index: int, label: str) -> None:
    if row.inverse.mean is None:
        return
    style = LINE_STYLES[index % len(LINE_STYLES)]
    axes.axhline(
        row.inverse.mean, color=SHADES.get(row.method, INK), linestyle=style, linewidth=1.3, label=label
    )
    if row.inverse.low is not None and row.inverse.high is not None:
        axes.axhspan(
            row.inverse.low, row.inverse.high, color=SHADES.get(row.method, MUTED), alpha=0.08, linewidth=0
        )


def _paper_lines(axes: Axes, lines: list[SweepRow]) -> None:
    """The paper's height of each line, as a mark on the right edge."""
    printed = [(row.paper, SHADES.get(row.method, INK)) for row in lines if row.paper is not None]
    for place, (height, colour) in enumerate(printed):
        axes.plot(
            [1],
            [height],
            "D",
            transform=axes.get_yaxis_transform(),
            color=colour,
            markerfacecolor="none",
            markersize=5,
            clip_on=False,
            label=None if place else "a line's height in the paper",
        )


def _limit(axes: Axes, rows: list[SweepRow]) -> None:
    """The axis holds every mean and as much of the bands again; those of two seeds may be cut, and marked."""
    figure, dataset = rows[0].figure, rows[0].dataset
    shown = {row.method for row in rows if row.x is not None}
    curves = paper_sweep(figure).curves if dataset == FIGURE_DATASET else {}
    printed = [v for method in shown for v in curves.get(method, {}).values()]
    values = [v for row in rows for v in (row.inverse.mean, row.paper) if v is not None] + printed
    if values:
        low, high = min(values), max(values)
        reach = (high - low) / 2 or 0.1 * high
        bottom, top = axes.get_ylim()
        axes.set_ylim(max(bottom, low - reach), min(top, high + reach))


def _scale(axes: Axes, figure: str, positions: list[float]) -> None:
    if figure == "figure1" and positions:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(positions))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
