"""The paper's own tables and figures, from the CSV files that are shipped as `multilogger.data.paper`."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from multilogger.components.reproduction.results import DatasetSize

SAME_ROWS = {"tmc500": "tmc"}
"""Datasets with the rows and labels of one in the paper but other features: its numbers stand beside ours."""

FIGURE_DATASET = "yeast"
"""The dataset of Figures 1 to 3."""

TABLE_REPLAYS = 4.0
"""The replay count of both loggers in Table 2."""


@dataclass(frozen=True)
class PaperSweep:
    """A figure of the paper: 1/EXP by method, at each x, and on the reference lines."""

    curves: dict[str, dict[float, float]]
    lines: dict[str, float]

    def at(self, method: str, x: float | None) -> float | None:
        return self.lines.get(method) if x is None else self.curves.get(method, {}).get(x)


def paper_dataset(dataset: str) -> str:
    """The paper's dataset that a dataset of ours is compared with."""
    return SAME_ROWS.get(dataset, dataset)


@cache
def paper_table1() -> dict[str, DatasetSize]:
    return {
        row["dataset"]: DatasetSize(
            row["dataset"],
            features=int(row["features"]),
            labels=int(row["labels"]),
            n_train=int(row["n_train"]),
            n_test=int(row["n_test"]),
        )
        for row in _rows("table1")
    }


@cache
def paper_table2() -> dict[str, dict[str, float]]:
    """EXP by dataset, then method."""
    table: dict[str, dict[str, float]] = {}
    for row in _rows("table2"):
        method = row.pop("method")
        for dataset, exp in row.items():
            table.setdefault(dataset, {})[method] = float(exp)
    return table


def paper_exp(dataset: str, method: str) -> float | None:
    """Table 2's number, None where the paper has none."""
    return paper_table2().get(paper_dataset(dataset), {}).get(method)


@cache
def paper_sweep(figure: str) -> PaperSweep:
    """`figure1`, `figure2` or `figure3`."""
    curves: dict[str, dict[float, float]] = {}
    lines: dict[str, float] = {}
    for row in _rows(figure):
        x = row["replay_count"] if figure == "figure1" else row["tau"]
        if x:
            curves.setdefault(row["method"], {})[float(x)] = float(row["inverse_exp"])
        else:
            lines[row["method"]] = float(row["inverse_exp"])
    return PaperSweep(curves, lines)


@dataclass(frozen=True)
class Discrepancy:
    """A method's EXP in a figure of the paper, and in its Table 2."""

    figure: str
    method: str
    in_figure: float
    in_table: float


def discrepancies(figure: str) -> list[Discrepancy]:
    """Where a figure and Table 2 print different numbers for one setting (more than 1 % apart).

    Table 2 has four replays, so Figure 1 is read there; no temperature is printed for it, so Figures 2 and 3
    are read at their best.
    """
    sweep, table = paper_sweep(figure), paper_table2()[FIGURE_DATASET]
    heights = {
        method: curve[TABLE_REPLAYS] if figure == "figure1" else max(curve.values())
        for method, curve in sweep.curves.items()
    } | sweep.lines
    found = [Discrepancy(figure, method, 1 / height, table[method]) for method, height in heights.items()]
    return [d for d in found if abs(d.in_figure / d.in_table - 1) > 0.01]


def _rows(name: str) -> list[dict[str, str]]:
    text = files("multilogger.data.paper").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
