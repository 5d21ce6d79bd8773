"""More than two loggers: EXP by their number, with the same number of rows in all."""

from dataclasses import dataclass

from multilogger.components.reproduction.cells import datasets_in_order, exp_by_seed, grouped
from multilogger.components.reproduction.method_names import method_rank
from multilogger.components.reproduction.preset_names import preset_rank
from multilogger.components.reproduction.results import CellResult, Reproduction
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
