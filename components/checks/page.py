"""The page of a check: findings, tables and pictures in one file that needs nothing but itself."""

import base64
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from multilogger.components.checks.pareto import tail_words
from multilogger.components.checks.report import LogReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ACTIONS = 30  # in a picture, the most frequent ones
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#24292f")


@dataclass(frozen=True)
class Picture:
    """An SVG in base 64 under its title, and how to read it."""

    title: str
    svg: str
    note: str


def page(report: LogReport) -> str:
    """The page's HTML; whatever came from the log is escaped by the template engine."""
    environment = Environment(
        loader=PackageLoader("multilogger.components.checks"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("check.html").render(
        report=report,
        table=report.table(),
        worth=list(_worth(report)),
        weights=report.legend[:1].upper() + report.legend[1:],
        pictures=list(_pictures(report)),
    )


def _worth(report: LogReport) -> Iterator[dict[str, str]]:
    for one in report.loggers:
        k, others = one.pareto_k, one.others
        yield {
            "logger": one.name,
            "uniform: effective rows": f"{one.uniform.effective_rows:,.0f} of {one.rows:,}",
            "Pareto-k": "-" if np.isnan(k) else f"{k:.2f}, {tail_words(k)}",
            "by the others: effective rows": "-" if others is None else f"{others.effective_rows:,.0f}",
            "mean weight": "-" if others is None else f"{others.mean_weight:.3f}",
        }


def _pictures(report: LogReport) -> Iterator[Picture]:
    losses = "The mean loss of each logger with its 95 % interval."
    yield _drawn("Losses", losses, 0.5 + 0.4 * len(report.loggers), lambda axes: _losses(axes, report))
    rates = np.array([one.action_rates for one in report.loggers])
    often = np.argsort(-rates.sum(axis=0), kind="stable")[:MOST_ACTIONS]
    shown = "" if len(often) == rates.shape[1] else f" The {MOST_ACTIONS} most frequent ones."
    note = f"The share of each logger's rows that have the action.{shown}"
    yield _drawn("Actions", note, 3.0, lambda axes: _by_action(axes, report, rates[:, often], often, None))
    if all(one.own_weights is not None for one in report.loggers):
        own = np.array([one.own_weights for one in report.loggers])
        note = (
            "The mean of 1/p over the rows of a logger that have the action. It is 1 if propensities are "
            "right and the logger can always take the action; above 1 they are too small."
        )
        yield _drawn(
            "Are propensities right?",
            note,
            3.0,
            lambda axes: _by_action(axes, report, own[:, often], often, 1.0),
        )
    if any(one.loss_over_time for one in report.loggers):
        note = "The mean loss in blocks of time that have equally many rows."
        yield _drawn("Losses over time", note, 3.0, lambda axes: _over_time(axes, report))


def _drawn(title: str, note: str, height: float, draw: "Callable[[Axes], None]") -> Picture:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {"svg.hashsalt": "multilogger", "font.size": 9, "axes.spines.right": False}
    with mpl.rc_context({**settings, "axes.spines.top": False, "text.parse_math": False}):
        figure = Figure(figsize=(9.0, height + 0.6), layout="constrained")
        draw(figure.subplots())
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(title, base64.b64encode(out.getvalue()).decode("ascii"), note)


def _losses(axes: "Axes", report: LogReport) -> None:
    for at, one in enumerate(report.loggers[::-1]):
        ends = one.loss_interval
        axes.plot((ends.low, ends.high), (at, at), color=COLOURS[0], linewidth=1.8)
        axes.plot(one.mean_loss, at, "o", color=COLOURS[0], markersize=5)
    axes.set_yticks(range(len(report.loggers)), [_short(one.name) for one in report.loggers[::-1]])
    axes.set_ylim(-0.6, len(report.loggers) - 0.4)
    axes.set_xlabel("mean loss")


def _by_action(
    axes: "Axes",
    report: LogReport,
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    often: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    expected: float | None,
) -> None:
    loggers, count = values.shape
    width = 0.8 / loggers
    for j, one in enumerate(report.loggers):
        places = np.arange(count) - 0.4 + (j + 0.5) * width
        axes.bar(places, values[j], width, color=COLOURS[j % len(COLOURS)], label=_short(one.name))
    if expected is not None:
        axes.axhline(expected, color=COLOURS[-1], linewidth=0.9, linestyle="--")
    names = [_short(report.actions[a], 12) for a in often]
    axes.set_xticks(range(count), names, rotation=0 if count <= 10 else 90)
    axes.legend(frameon=False, fontsize=8)


def _over_time(axes: "Axes", report: LogReport) -> None:
    for j, one in enumerate(report.loggers):
        blocks = np.arange(1, len(one.loss_over_time) + 1)
        colour = COLOURS[j % len(COLOURS)]
        axes.plot(blocks, one.loss_over_time, marker="o", markersize=3, color=colour, label=_short(one.name))
    axes.set_xlabel("block of time")
    axes.set_ylabel("mean loss")
    axes.legend(frameon=False, fontsize=8)


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
