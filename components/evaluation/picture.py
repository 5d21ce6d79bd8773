"""The picture of an evaluation: estimates with both intervals, the loggers' own losses, effective rows."""

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multilogger.components.evaluation.evaluation import EstimateRow, PolicyEvaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, BLUE, PALE, ORANGE = "#1f2933", "#1f5fa8", "#b7cde6", "#c2571a"
LINES = ("--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)))


def draw_evaluation(result: PolicyEvaluation, title: str, level: float, stem: Path) -> tuple[Path, Path]:
    """Write `<stem>.png` and `<stem>.svg`; the same numbers give the same bytes."""
    with _style():
        figure = evaluation_figure(result, title, level)
        png, svg = stem.with_suffix(".png"), stem.with_suffix(".svg")
        figure.savefig(png, dpi=160, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return png, svg


def evaluation_figure(result: PolicyEvaluation, title: str, level: float) -> "Figure":
    """The picture, which no window knows of until it is shown."""
    from matplotlib.figure import Figure

    height = 1.9 + 0.34 * max(len(result.estimates), 4)
    with _style():
        figure = Figure(figsize=(9.5, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 1))
        _draw_estimates(left, result, level)
        _draw_rows(right, result)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside lower left", ncols=3, frameon=False, fontsize=8
        )
    return figure


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    style: dict[Any, Any] = {"svg.hashsalt": "multilogger", "font.size": 9, "axes.spines.right": False}
    return mpl.rc_context({**style, "text.parse_math": False})  # names may have a dollar sign


def _draw_estimates(axes: "Axes", result: PolicyEvaluation, level: float) -> None:
    rows = result.estimates[::-1]
    trusted = result.recommendation.estimator
    low, high = _view(result)
    for at, row in enumerate(rows):
        _draw_row(axes, row, at, (low, high), row.name == trusted, level, label=at == 0)
    for logger, style in zip(result.loggers, LINES * len(result.loggers), strict=False):
        text = f"{_short(logger.name)}: own mean loss {logger.mean_loss:.3g}"
        if not low <= logger.mean_loss <= high:
            text += ", off the picture"
        axes.axvline(logger.mean_loss, color=INK, linewidth=0.9, linestyle=style, label=text)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_color(ORANGE if row.name == trusted else INK)
    axes.set_xlim(low, high)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("estimated risk (lower is better)")
    axes.spines["top"].set_visible(False)


def _view(result: PolicyEvaluation) -> tuple[float, float]:
    """The estimates with their bootstrap intervals and the best logger; a logger far away is left out."""
    ends = [e for row in result.estimates for e in (row.bootstrap.low, row.bootstrap.high, row.value)]
    ends = [end for end in ends if math.isfinite(end)]
    ends.append(min(logger.mean_loss for logger in result.loggers))
    span = max(ends) - min(ends)
    near = [one.mean_loss for one in result.loggers if min(ends) - span <= one.mean_loss <= max(ends) + span]
    ends += near
    room = 0.08 * (max(ends) - min(ends)) or 0.1
    return max(0.0, min(ends) - room), max(ends) + room


def _draw_row(
    axes: "Axes",
    row: EstimateRow,
    at: int,
    view: tuple[float, float],
    trusted: bool,
    level: float,
    label: bool,
) -> None:
    """One estimate; a Bernstein interval that leaves the view is cut at its edge."""
    if row.bernstein is not None:
        ends = (max(view[0], row.bernstein.low), min(view[1], row.bernstein.high))
        axes.plot(ends, (at, at), color=PALE, linewidth=6, solid_capstyle="butt", zorder=1)
    if label:
        axes.plot([], [], color=BLUE, linewidth=1.8, label=f"{level:.0%} bootstrap (BCa)")
        axes.plot([], [], color=ORANGE, linewidth=1.8, label="the estimate to trust")
        axes.plot([], [], color=PALE, linewidth=6, label=f"{level:.0%} empirical Bernstein, cut at the edge")
    colour = ORANGE if trusted else BLUE
    axes.plot((row.bootstrap.low, row.bootstrap.high), (at, at), color=colour, linewidth=1.8, zorder=2)
    axes.plot(row.value, at, "o", color=colour, markersize=4.5, zorder=3)


def _draw_rows(axes: "Axes", result: PolicyEvaluation) -> None:
    """Effective rows of each logger, as a share of its rows."""
    loggers = result.loggers[::-1]
    shares = [logger.effective_rows / logger.rows for logger in loggers]
    axes.barh(range(len(loggers)), shares, color=BLUE, height=0.55)
    for at, (logger, share) in enumerate(zip(loggers, shares, strict=True)):
        text = f" {logger.effective_rows:,.0f} of {logger.rows:,}"
        axes.text(share, at, text, va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(loggers)), [_short(logger.name) for logger in loggers])
    axes.set_xlim(0, max(1e-3, 1.9 * max(shares)))
    axes.set_ylim(-0.6, len(loggers) - 0.4)
    axes.set_xlabel("effective rows / rows")
    axes.set_title("what the rows are worth", fontsize=9, loc="left", color=INK)
    axes.spines["top"].set_visible(False)


def _short(name: str, most: int = 40) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= most else name[: most - 1] + "…"
