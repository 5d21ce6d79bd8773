"""Two studies beyond the paper: more than two loggers, and whether the loss adds up over labels."""

from dataclasses import dataclass
from statistics import median

from multilogger.components.reproduction.names import method_rank, preset_rank
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    grouped,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds


@dataclass(frozen=True)
class LoggerStudyRow:
    """A method on a dataset, with J loggers."""

    dataset: str
    method: str
    preset: str
    loggers: int
    cells: tuple[CellResult, ...]
    exp: MeanOverSeeds


def logger_study_rows(reproduction: Reproduction) -> list[LoggerStudyRow]:
    """Rows by dataset, method and number of loggers."""
    datasets = datasets_in_order(reproduction)
    groups = grouped(reproduction.loggers, lambda c: (c.dataset, c.method, c.preset, c.loggers or 0))
    keys = sorted(groups, key=lambda k: (datasets.index(k[0]), method_rank(k[1]), preset_rank(k[2]), k[3]))
    return [
        LoggerStudyRow(*key, tuple(groups[key]), mean_over_seeds(list(exp_by_seed(groups[key]).values())))
        for key in keys
    ]


TESTED_METHOD = "additive"
LEVEL = 0.05
"""Where the loss does add up, p is below it in this share of seeds."""


@dataclass(frozen=True)
class AdditivityRow:
    """The tests of a dataset, one a seed: how many have p < `LEVEL`, and the median p."""

    dataset: str
    preset: str
    cells: tuple[CellResult, ...]
    p_values: tuple[float, ...]

    @property
    def rejected(self) -> int:
        return sum(p < LEVEL for p in self.p_values)

    @property
    def rejected_share(self) -> float:
        return self.rejected / len(self.p_values)

    @property
    def median_p(self) -> float:
        return median(self.p_values)


def additivity_rows(reproduction: Reproduction) -> list[AdditivityRow]:
    """A row a dataset and preset that `additive` was run on."""
    datasets = datasets_in_order(reproduction)
    tested = [
        cell
        for cell in (*reproduction.table2, *reproduction.pairwise)
        if cell.method == TESTED_METHOD and cell.additivity_p is not None
    ]
    groups = grouped(tested, lambda c: (c.dataset, c.preset))
    return [
        AdditivityRow(
            *key, tuple(groups[key]), tuple(c.additivity_p for c in groups[key] if c.additivity_p is not None)
        )
        for key in sorted(groups, key=lambda key: (datasets.index(key[0]), preset_rank(key[1])))
    ]
