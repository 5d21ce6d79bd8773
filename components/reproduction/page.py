"""The report as one HTML page that needs nothing but itself."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from multilogger.components.reproduction import page_numbers
from multilogger.components.reproduction.additivity_rows import AdditivityRow
from multilogger.components.reproduction.cells import cell_count, failed_cells, failure_reason, succeeded
from multilogger.components.reproduction.choices import DEFAULT, ChoiceRow, choice_sentence
from multilogger.components.reproduction.claims import summary
from multilogger.components.reproduction.csv_files import sweep_position
from multilogger.components.reproduction.inline_svg import inline_svg
from multilogger.components.reproduction.interval_strip import interval_strips
from multilogger.components.reproduction.logger_study import LoggerStudyRow
from multilogger.components.reproduction.method_names import MethodGroup, method_group, method_title
from multilogger.components.reproduction.paper_figures import (
    FIGURE_DATASET,
    SAME_ROWS,
    discrepancies,
    paper_dataset,
    paper_table2,
)
from multilogger.components.reproduction.plots import Picture
from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.components.reproduction.sweeps import SweepRow
from multilogger.components.reproduction.table1 import Table1Row
from multilogger.components.reproduction.table2 import Table2Row, best_learned
from multilogger.components.reproduction.verdicts import Claim

GROUP_TITLES = {
    MethodGroup.LOGGER: "The loggers",
    MethodGroup.LEARNED: "Learned from the log alone",
    MethodGroup.REFERENCE: "For reference",
}


@dataclass(frozen=True)
class Contents:
    """Everything that the page shows, already worked out; a part that was not run is empty."""

    reproduction: Reproduction
    claims: Sequence[Claim]
    table1: Sequence[Table1Row]
    table2: Sequence[Table2Row]
    sweeps: Mapping[str, Sequence[SweepRow]]
    choices: Sequence[ChoiceRow]
    loggers: Sequence[LoggerStudyRow]
    pairwise: Sequence[Table2Row]
    additivity: Sequence[AdditivityRow]
    own_claims: Sequence[Claim]
    pictures: Mapping[str, Picture]
    mlflow_url: str
    commands: Sequence[str]
    origin: Mapping[str, str]


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


def render_page(contents: Contents) -> str:
    """The page's HTML; what came from outside is escaped by the template engine."""
    environment = Environment(
        loader=PackageLoader("multilogger.components.reproduction"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        name: getattr(page_numbers, name)
        for name in (
            "loss",
            "inverse",
            "half_width",
            "inverse_half_width",
            "signed",
            "interval",
            "probability",
            "thousands",
            "axis_number",
        )
    }
    environment.filters |= {"method": method_title, "reason": failure_reason, "position": sweep_position}
    environment.filters["svg"] = lambda picture: Markup(inline_svg(picture))
    environment.globals |= {
        "tested": page_numbers.tested,
        "tested_interval": page_numbers.tested_interval,
        "succeeded": succeeded,
        "sentence": choice_sentence,
        "link": lambda cell: run_address(contents.mlflow_url, cell),
    }
    return environment.get_template("report.html").render(
        contents=contents,
        summary=summary(list(contents.claims)),
        tests=sum(len(claim.tests) for claim in contents.claims),
        own_tests=sum(len(claim.tests) for claim in contents.own_claims),
        strips={
            claim.name: [Markup(s) for s in interval_strips(claim.tests)]
            for claim in (*contents.claims, *contents.own_claims)
        },
        failed=failed_cells(contents.reproduction),
        cells=cell_count(contents.reproduction),
        table2=method_sections(contents, contents.table2, partial(picture_name, "table2")),
        pairwise=method_sections(contents, contents.pairwise, lambda dataset: dataset),
        figures=figure_sections(contents),
        discrepancies=[
            discrepancy
            for figure, rows in contents.sweeps.items()
            if any(row.dataset == FIGURE_DATASET for row in rows)
            for discrepancy in discrepancies(figure)
        ],
        choices=choice_sections(contents.choices),
        loggers=logger_sections(contents.loggers),
    )


def run_address(mlflow_url: str, cell: CellResult) -> str:
    """Where MLflow shows the cell's run; empty if that is not known."""
    return f"{mlflow_url.rstrip('/')}/{cell.page.lstrip('/')}" if mlflow_url and cell.page else ""


def method_sections(
    contents: Contents, rows: Sequence[Table2Row], picture_of: Callable[[str], str]
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
                picture=contents.pictures.get(picture_of(dataset)),
            )
        )
    return sections


def figure_sections(contents: Contents) -> list[FigureSection]:
    return [
        FigureSection(figure, contents.pictures[name], own)
        for figure, rows in contents.sweeps.items()
        for name, own in by_picture(figure, rows).items()
        if name in contents.pictures
    ]


def by_picture(figure: str, rows: Sequence[SweepRow]) -> dict[str, tuple[SweepRow, ...]]:
    """A figure's rows by the name of their picture: the figure's own if there is one dataset only."""
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    return {
        figure if len(datasets) == 1 else picture_name(figure, dataset): tuple(
            r for r in rows if r.dataset == dataset
        )
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
