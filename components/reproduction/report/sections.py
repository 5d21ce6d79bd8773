"""The report's sections that are shown a dataset, or a method, at a time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from multilogger.components.datasets.losses import HAMMING, LossWords
from multilogger.components.reproduction.names import OURS, MethodGroup, method_group, preset_rank
from multilogger.components.reproduction.paper_figures import SAME_ROWS, paper_dataset, paper_table2
from multilogger.components.reproduction.plots.canvas import Plot
from multilogger.components.reproduction.tables.constraint import (
    AXES,
    Axis,
    ConstraintRow,
    constraint_paragraph,
)
from multilogger.components.reproduction.tables.one_of import OneOfRow
from multilogger.components.reproduction.tables.paper_tables import (
    MethodLine,
    Table2Row,
    best_learned,
    method_lines,
    shown_presets,
)
from multilogger.components.reproduction.tables.studies import DEFAULT, ChoiceRow, LoggerStudyRow
from multilogger.components.reproduction.tables.sweeps import SweepRow

GROUP_TITLES = {
    MethodGroup.LOGGER: "The loggers",
    MethodGroup.LEARNED: "Learned from the log alone",
    MethodGroup.REFERENCE: "For reference",
}


Row = TypeVar("Row", Table2Row, OneOfRow, SweepRow, LoggerStudyRow, ConstraintRow)


def rows_by_dataset(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each dataset, in their order."""
    datasets = dict.fromkeys(row.dataset for row in rows)
    return {dataset: [row for row in rows if row.dataset == dataset] for dataset in datasets}


@dataclass(frozen=True)
class Table2Section:
    """One dataset of Table 2, its methods by group, its best row, and the paper's best."""

    dataset: str
    groups: tuple[tuple[str, tuple[MethodLine, ...]], ...]
    best: Table2Row | None
    paper_best: tuple[str, float] | None
    same_rows: str
    presets: tuple[str, ...]
    picture: Plot | None
    words: LossWords
    paragraph: str = ""


@dataclass(frozen=True)
class FigureSection:
    """One dataset and preset of Figure 1, 2 or 3."""

    figure: str
    picture: Plot
    rows: tuple[SweepRow, ...]


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

    @property
    def presets(self) -> bool:
        """Whether presets must be told apart."""
        return len({preset for _, preset in self.lines}) > 1


def method_sections(
    rows: Sequence[Table2Row],
    pictures: Mapping[str, Plot],
    picture_of: Callable[[str], str],
    words: LossWords = HAMMING.words,
    paragraphs: Mapping[str, str] | None = None,
) -> list[Table2Section]:
    """One per dataset, with the picture of the name that `picture_of` gives it, and a paragraph if any."""
    sections = []
    for dataset, own in rows_by_dataset(rows).items():
        groups = tuple(
            (title, members)
            for group, title in GROUP_TITLES.items()
            if (members := tuple(line for line in method_lines(own) if method_group(line.method) is group))
        )
        sections.append(
            Table2Section(
                dataset=dataset,
                groups=groups,
                best=best_learned(list(rows), dataset),
                paper_best=_paper_best(dataset),
                same_rows=SAME_ROWS.get(dataset, ""),
                presets=shown_presets(own),
                picture=pictures.get(picture_of(dataset)),
                words=words,
                paragraph=(paragraphs or {}).get(dataset, ""),
            )
        )
    return sections


def figure_sections(
    sweeps: Mapping[str, Sequence[SweepRow]], pictures: Mapping[str, Plot]
) -> list[FigureSection]:
    return [
        FigureSection(figure, pictures[name], own)
        for figure, rows in sweeps.items()
        for key, own in by_preset(rows).items()
        if (name := picture_name(figure, *key)) in pictures
    ]


def by_preset(rows: Sequence[SweepRow]) -> dict[tuple[str, str], tuple[SweepRow, ...]]:
    """A figure's rows by dataset and preset, the paper's preset first; a picture shows one such group."""
    return {
        (dataset, preset): _rows_under(own, preset)
        for dataset, own in rows_by_dataset(rows).items()
        for preset in sorted({row.preset for row in own}, key=preset_rank)
    }


def _rows_under(rows: Sequence[SweepRow], preset: str) -> tuple[SweepRow, ...]:
    """The rows of a preset and those of methods that know but one, which do not depend on it."""
    presets = {row.method: {other.preset for other in rows if other.method == row.method} for row in rows}
    return tuple(row for row in rows if row.preset == preset or len(presets[row.method]) == 1)


def picture_name(part: str, dataset: str, preset: str = OURS) -> str:
    """A file name without its ending, with the preset if it is not ours; a dataset may be called anything."""
    named = [part, dataset, *([preset] if preset not in ("", OURS) else [])]
    return "-".join(re.sub(r"[^A-Za-z0-9_.-]+", "-", name) for name in named)


def choice_sections(rows: Sequence[ChoiceRow]) -> list[ChoiceSection]:
    sections = []
    for key in dict.fromkeys((row.dataset, row.method, row.preset) for row in rows):
        own = [row for row in rows if (row.dataset, row.method, row.preset) == key]
        default = next((row for row in own if row.choice == DEFAULT), None)
        sections.append(ChoiceSection(*key, default, tuple(row for row in own if row.choice != DEFAULT)))
    return sections


def logger_sections(rows: Sequence[LoggerStudyRow]) -> list[LoggerSection]:
    sections = []
    for dataset, own in rows_by_dataset(rows).items():
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


@dataclass(frozen=True)
class ConstraintSection:
    """What was found on a dataset in words, its picture, and the rows of each axis."""

    dataset: str
    paragraph: str
    picture: Plot | None
    axes: tuple[tuple[Axis, tuple[ConstraintRow, ...]], ...]


def constraint_sections(
    rows: Sequence[ConstraintRow], pictures: Mapping[str, Plot]
) -> list[ConstraintSection]:
    """`pictures` are those of the study, by dataset."""
    return [
        ConstraintSection(
            dataset,
            constraint_paragraph(own),
            pictures.get(dataset),
            tuple(
                (about, found)
                for axis, about in AXES.items()
                if (found := tuple(row for row in own if row.axis == axis))
            ),
        )
        for dataset, own in rows_by_dataset(rows).items()
    ]
