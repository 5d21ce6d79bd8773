"""Figures 1 to 3: 1/EXP over the replay count of h_1 or the temperature, with reference lines."""

from dataclasses import dataclass

from multilogger.components.reproduction.names import method_rank, preset_rank
from multilogger.components.reproduction.paper_figures import FIGURE_DATASET, paper_sweep
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    grouped,
    succeeded,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds

FIGURES = ("figure1", "figure2", "figure3")
AXES = {"figure1": "replay_count", "figure2": "tau", "figure3": "tau"}


@dataclass(frozen=True)
class SweepRow:
    """A point of a curve, or a reference line if `x` is None.

    Choice: `inverse` is the mean over seeds of 1/EXP, not 1 over the mean, so that it, its interval and the
    slopes that are tested all live on the figure's axis; `exp_mean` is the mean of EXP itself.
    """

    figure: str
    dataset: str
    method: str
    preset: str
    x: float | None
    cells: tuple[CellResult, ...]
    inverse: MeanOverSeeds
    exp_mean: float | None
    paper: float | None


def position(figure: str, cell: CellResult) -> float | None:
    """Where on the horizontal axis a cell stands; None for a reference line."""
    return cell.replay_count if figure == "figure1" else cell.tau


def sweep_rows(reproduction: Reproduction, figure: str) -> list[SweepRow]:
    """Rows by dataset, curves first, then by method, preset and x."""
    cells: tuple[CellResult, ...] = getattr(reproduction, figure)
    datasets = datasets_in_order(reproduction)
    groups = grouped(cells, lambda c: (c.dataset, c.method, c.preset, position(figure, c)))
    rows = [_row(figure, group) for group in groups.values()]
    return sorted(
        rows,
        key=lambda r: (
            datasets.index(r.dataset),
            r.x is None,
            method_rank(r.method),
            preset_rank(r.preset),
            r.x or 0.0,
        ),
    )


def _row(figure: str, cells: list[CellResult]) -> SweepRow:
    exps = [cell.exp for cell in cells if succeeded(cell) and cell.exp is not None]
    first, x = cells[0], position(figure, cells[0])
    on_paper = first.dataset == FIGURE_DATASET
    return SweepRow(
        figure=figure,
        dataset=first.dataset,
        method=first.method,
        preset=first.preset,
        x=x,
        cells=tuple(cells),
        inverse=mean_over_seeds([1 / exp for exp in exps if exp > 0]),
        exp_mean=mean_over_seeds(exps).mean,
        paper=paper_sweep(figure).at(first.method, x) if on_paper else None,
    )
