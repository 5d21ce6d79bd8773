"""The report's sections that are shown a dataset, or a method, at a time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.choices import DEFAULT, ChoiceRow
from multilogger.components.reproduction.logger_study import LoggerStudyRow
from multilogger.components.reproduction.method_names import MethodGroup, method_group
from multilogger.components.reproduction.paper_figures import SAME_ROWS, paper_dataset, paper_table2
from multilogger.components.reproduction.plots import Picture
from multilogger.components.reproduction.sweeps import SweepRow
from multilogger.components.reproduction.table2 import Table2Row, best_learned

GROUP_TITLES = {
    MethodGroup.LOGGER: "The loggers",
    MethodGroup.LEARNED: "Learned from the log alone",
    MethodGroup.REFERENCE: "For reference",
}


@dataclass(frozen=True)
class Table2Section:
    """One dataset of Table 2, its rows by group, its best row, and the paper's best."""

    dataset: str
    groups: tuple[tuple[str, tuple[Table2Row, ...]], ...]
    best: Table2Row | None
    paper_best: tuple[str, float] | None
    same_rows: str
    presets: bool
    picture: Picture | None


@dataclass(frozen=True)
class FigureSection:
    """One dataset of Figure 1, 2 or 3."""

    figure: str
    picture: Picture
    rows: tuple[SweepRow, ...]

    @property
    def presets(self) -> bool:
        """Whether presets must be told apart."""
        return len({row.preset for row in self.rows if row.x is not None}) > 1


@dataclass(frozen=True)
class ChoiceSection:
    """The choices for a method on a dataset; the default comes first, if it was run."""

    dataset: str
    method: str
    preset: str
    default: ChoiceRow | None
    rows: tuple[ChoiceRow, ...]


@dataclass(frozen=True)
class LoggerSection:
    """EXP of each (method, preset) on a dataset by the number of loggers."""

    dataset: str
    counts: tuple[int, ...]
    lines: Mapping[tuple[str, str], Mapping[int, LoggerStudyRow]]


def method_sections(
    rows: Sequence[Table2Row], pictures: Mapping[str, Picture], picture_of: Callable[[str], str]
) -> list[Table2Section]:
    """One a dataset, with the picture of the name that `picture_of` gives it."""
    sections = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        groups = tuple(
            (title, members)
            for group, title in GROUP_TITLES.items()
            if (members := tuple(row for row in own if method_group(row.method) is group))
        )
        sections.append(
            Table2Section(
                dataset=dataset,
                groups=groups,
                best=best_learned(list(rows), dataset),
                paper_best=_paper_best(dataset),
                same_rows=SAME_ROWS.get(dataset, ""),
                presets=len({row.preset for row in own if method_group(row.method) is MethodGroup.LEARNED})
                > 1,
                picture=pictures.get(picture_of(dataset)),
            )
        )
    return sections


def figure_sections(
    sweeps: Mapping[str, Sequence[SweepRow]], pictures: Mapping[str, Picture]
) -> list[FigureSection]:
    return [
        FigureSection(figure, pictures[name], own)
        for figure, rows in sweeps.items()
        for name, own in by_picture(figure, rows).items()
        if name in pictures
    ]


def by_picture(figure: str, rows: Sequence[SweepRow]) -> dict[str, tuple[SweepRow, ...]]:
    """A figure's rows by the name of their picture, one a dataset."""
    datasets = dict.fromkeys(row.dataset for row in rows)
    return {
        picture_name(figure, dataset): tuple(row for row in rows if row.dataset == dataset)
        for dataset in datasets
    }


def picture_name(part: str, dataset: str) -> str:
    """A file name without its ending; a dataset may be called anything."""
    return f"{part}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', dataset)}"


def choice_sections(rows: Sequence[ChoiceRow]) -> list[ChoiceSection]:
    sections = []
    for key in dict.fromkeys((row.dataset, row.method, row.preset) for row in rows):
        own = [row for row in rows if (row.dataset, row.method, row.preset) == key]
        default = next((row for row in own if row.choice == DEFAULT), None)
        sections.append(ChoiceSection(*key, default, tuple(row for row in own if row.choice != DEFAULT)))
    return sections


def logger_sections(rows: Sequence[LoggerStudyRow]) -> list[LoggerSection]:
    sections = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        lines = {
            (row.method, row.preset): {
                r.loggers: r for r in own if (r.method, r.preset) == (row.method, row.preset)
            }
            for row in own
        }
        sections.append(LoggerSection(dataset, tuple(sorted({row.loggers for row in own})), lines))
    return sections


def _paper_best(dataset: str) -> tuple[str, float] | None:
    """The paper's best method that learns from the log alone."""
    printed = {
        method: exp
        for method, exp in paper_table2().get(paper_dataset(dataset), {}).items()
        if method_group(method) is MethodGroup.LEARNED
    }
    return min(printed.items(), key=lambda item: item[1], default=None)
