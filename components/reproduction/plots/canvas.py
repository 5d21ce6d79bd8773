"""The figures as PNG and SVG, the same bytes for the same numbers, and pictures inside a page."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from multilogger.components.reproduction.claims.verdicts import ClaimTest

INK = "#24292f"
MUTED = "#6e7781"
GRID = "#d8dee4"
BACKGROUND = "#ffffff"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Okabe and Ito's palette, which a colour-blind reader can tell apart."""

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "multilogger",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": BACKGROUND,
    "axes.facecolor": BACKGROUND,
    "savefig.facecolor": BACKGROUND,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
}


@dataclass(frozen=True)
class Plot:
    """A figure under its file name without the ending, what it shows in words, and its two encodings."""

    name: str
    title: str
    svg: bytes
    png: bytes


@contextmanager
def sheet(width: float, height: float) -> Iterator[Figure]:
    """A figure in our style; it knows nothing of pyplot, so threads and other figures do not matter."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.09))
        FigureCanvasAgg(figure)
        yield figure


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """The same with one pair of axes."""
    with sheet(width, height) as figure:
        yield figure, figure.add_subplot()


def as_plot(name: str, title: str, figure: Figure) -> Plot:
    """Both encodings, without the date and the program's name that matplotlib would write into them."""
    svg, png = io.BytesIO(), io.BytesIO()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not again for each encoding
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    return Plot(name, title, svg.getvalue(), png.getvalue())


def spread(
    low: Sequence[float | None], high: Sequence[float | None]
) -> tuple[list[float], list[float]] | None:
    """Both ends of a band, or None if any point has no interval."""
    ends = [(a, b) for a, b in zip(low, high, strict=True) if a is not None and b is not None]
    return ([a for a, _ in ends], [b for _, b in ends]) if ends and len(ends) == len(low) else None


@dataclass(frozen=True)
class Reach:
    """An interval from `low` to `high` at a place on the other axis; None is the right edge."""

    at: float | None
    low: float
    high: float
    colour: str


def mark_cut(axes: Axes, reaches: Sequence[Reach], upright: bool, count: int = 0) -> int:
    """A caret on the edge of the picture for every interval that goes on beyond it.

    Intervals run upwards if `upright`, else to the right. Call it when the limits are set. `count` carets
    stand in other panels already; returns how many there are then.
    """
    first, last = axes.get_ylim() if upright else axes.get_xlim()
    signs = ("v", "^") if upright else ("<", ">")
    for reach in reaches:
        for beyond, edge, sign in ((reach.low < first, first, signs[0]), (reach.high > last, last, signs[1])):
            if not beyond:
                continue
            at = 0.985 if reach.at is None else reach.at
            axes.plot(
                [at if upright else edge],
                [edge if upright else at],
                sign,
                transform=axes.get_yaxis_transform() if reach.at is None else axes.transData,
                color=reach.colour,
                markersize=5,
                clip_on=False,
                zorder=5,
                gid=f"cut-{count}",
                label=None if count else "the interval goes on beyond the axis",
            )
            count += 1
    return count


VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--rule)",
    BACKGROUND: "var(--card)",
    **{colour: f"var(--series-{index})" for index, colour in enumerate(SERIES, start=1)},
}
"""Plot colours by the name of the page's own, which follow light and dark."""


def inline_svg(picture: Plot) -> str:
    """The `<svg>` element of a picture; prefixed ids keep two pictures on a page apart."""
    text = picture.svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", picture.name)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    # The page sets the size; the viewBox keeps the shape.
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true">', text, count=1)


WIDTH, HEIGHT, PAD = 150.0, 20.0, 6.0


def interval_strips(tests: Sequence[ClaimTest]) -> list[str]:
    """An `<svg>` for each test, all on one scale so that they can be compared by eye."""
    values = [v for test in tests for v in _values(test)]
    low, high = min(values), max(values)
    unit = (WIDTH - 2 * PAD) / ((high - low) or 1.0)
    return [_strip(test, low, unit) for test in tests]


def _values(test: ClaimTest) -> list[float]:
    numbers = (test.sample.low, test.sample.mean, test.sample.high, test.paper_value)
    return [test.bound, *(v for v in numbers if v is not None)]


def _strip(test: ClaimTest, low: float, unit: float) -> str:
    def x(value: float) -> str:
        return f"{PAD + (value - low) * unit:.1f}"

    middle = f"{HEIGHT / 2:g}"
    marks = [f'<path class="bound" d="M{x(test.bound)} 1V{HEIGHT - 1:g}"/>']
    if test.sample.low is not None and test.sample.high is not None:
        marks.append(f'<path class="range" d="M{x(test.sample.low)} {middle}H{x(test.sample.high)}"/>')
    if test.sample.mean is not None:
        marks.append(f'<circle class="mean" cx="{x(test.sample.mean)}" cy="{middle}" r="3.2"/>')
    if test.paper_value is not None:
        marks.append(f'<path class="paper" d="M{x(test.paper_value)} {middle}m0 -4l4 4l-4 4l-4 -4z"/>')
    return f'<svg class="strip" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{"".join(marks)}</svg>'
