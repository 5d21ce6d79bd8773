"""The report as one HTML page that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from multilogger.components.datasets.losses import HAMMING, ZERO_ONE
from multilogger.components.reproduction.claims.claims import claim_presets, summaries
from multilogger.components.reproduction.claims.verdicts import Claim
from multilogger.components.reproduction.names import method_title, preset_title
from multilogger.components.reproduction.paper_figures import FIGURE_DATASET, Discrepancy, discrepancies
from multilogger.components.reproduction.plots.canvas import Plot, inline_svg, interval_strips
from multilogger.components.reproduction.report import numbers as page_numbers
from multilogger.components.reproduction.report.sections import (
    Table2Section,
    choice_sections,
    constraint_sections,
    figure_sections,
    logger_sections,
    method_sections,
    picture_name,
    rows_by_dataset,
)
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    failed_cells,
    failure_reason,
    succeeded,
    sweep_position,
)
from multilogger.components.reproduction.tables.constraint import ConstraintRow
from multilogger.components.reproduction.tables.one_of import calibration_rows, one_of_paragraph, one_of_rows
from multilogger.components.reproduction.tables.paper_tables import SAME_AS_DIRECT, Table1Row, Table2Row
from multilogger.components.reproduction.tables.studies import (
    AdditivityRow,
    ChoiceRow,
    LoggerStudyRow,
    choice_sentence,
)
from multilogger.components.reproduction.tables.sweeps import SweepRow

NUMBER_FILTERS = (
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
"""The functions of `numbers.py` that the template calls by name."""


@dataclass(frozen=True)
class Contents:
    """Everything that the page shows, already worked out; a part that was not run is empty."""

    reproduction: Reproduction
    claims: Sequence[Claim]
    table1: Sequence[Table1Row]
    table2: Sequence[Table2Row]
    one_of: Sequence[Table2Row]
    sweeps: Mapping[str, Sequence[SweepRow]]
    choices: Sequence[ChoiceRow]
    loggers: Sequence[LoggerStudyRow]
    pairwise: Sequence[Table2Row]
    constraint: Sequence[ConstraintRow]
    additivity: Sequence[AdditivityRow]
    own_claims: Sequence[Claim]
    pictures: Mapping[str, Plot]
    mlflow_url: str
    commands: Sequence[str]
    origin: Mapping[str, str]


def render_page(contents: Contents) -> str:
    """The page's HTML; what came from outside is escaped by the template engine."""
    return (
        _environment(contents.mlflow_url)
        .get_template("report.html")
        .render(
            contents=contents,
            summaries=summaries(contents.claims),
            claim_presets=claim_presets(contents.claims),
            tests=_corrected_tests(contents.claims),
            own_tests=sum(len(claim.tests) for claim in contents.own_claims),
            strips={
                claim.name: [Markup(s) for s in interval_strips(claim.tests)]
                for claim in (*contents.claims, *contents.own_claims)
            },
            failed=failed_cells(contents.reproduction),
            cells=len(contents.reproduction.cells),
            several=len({cell.preset for cell in contents.reproduction.cells}) > 1,
            table2=method_sections(contents.table2, contents.pictures, partial(picture_name, "table2")),
            one_of=_one_of_sections(contents),
            calibration=calibration_rows(contents.one_of),
            words=HAMMING.words,
            one_of_words=ZERO_ONE.words,
            pairwise=method_sections(contents.pairwise, contents.pictures, lambda dataset: dataset),
            figures=figure_sections(contents.sweeps, contents.pictures),
            discrepancies=_discrepancies(contents.sweeps),
            choices=choice_sections(contents.choices),
            loggers=logger_sections(contents.loggers),
            constraint=constraint_sections(contents.constraint, _study_pictures(contents)),
        )
    )


def _one_of_sections(contents: Contents) -> list[Table2Section]:
    found = rows_by_dataset(one_of_rows(contents.one_of))
    paragraphs = {dataset: one_of_paragraph(rows) for dataset, rows in found.items()}
    picture_of = partial(picture_name, "one-of")
    return method_sections(contents.one_of, contents.pictures, picture_of, ZERO_ONE.words, paragraphs)


def _environment(mlflow_url: str) -> Environment:
    """The template engine, and what the template may call."""
    environment = Environment(
        loader=PackageLoader("multilogger.components.reproduction.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {name: getattr(page_numbers, name) for name in NUMBER_FILTERS}
    environment.filters |= {"method": method_title, "reason": failure_reason, "position": sweep_position}
    environment.filters["preset"] = preset_title
    environment.filters["svg"] = lambda picture: Markup(inline_svg(picture))
    environment.globals |= {
        "tested": page_numbers.tested,
        "tested_interval": page_numbers.tested_interval,
        "succeeded": succeeded,
        "SAME_AS_DIRECT": SAME_AS_DIRECT,
        "sentence": choice_sentence,
        "link": lambda cell: run_address(mlflow_url, cell),
    }
    return environment


def _corrected_tests(claims: Sequence[Claim]) -> str:
    """Over how many tests Holm's correction ran, for each preset if there are several."""
    counts = {
        preset: sum(not test.same and test.preset == preset for claim in claims for test in claim.tests)
        for preset in claim_presets(claims)
    }
    if len(counts) == 1:
        return f"{next(iter(counts.values()))} tests"
    named = ", ".join(f"{count} ({preset_title(preset)})" for preset, count in counts.items())
    return f"the tests of each preset: {named}"


def _study_pictures(contents: Contents) -> dict[str, Plot]:
    """The pictures of the study of the constraint, by dataset."""
    datasets = dict.fromkeys(row.dataset for row in contents.constraint)
    return {dataset: contents.pictures[picture_name("constraint", dataset)] for dataset in datasets}


def _discrepancies(sweeps: Mapping[str, Sequence[SweepRow]]) -> list[Discrepancy]:
    """Where the paper's figures and its Table 2 disagree, of figures that were run on their dataset."""
    return [
        discrepancy
        for figure, rows in sweeps.items()
        if any(row.dataset == FIGURE_DATASET for row in rows)
        for discrepancy in discrepancies(figure)
    ]


def run_address(mlflow_url: str, cell: CellResult) -> str:
    """Where MLflow shows the cell's run; empty if that is not known."""
    return f"{mlflow_url.rstrip('/')}/{cell.page.lstrip('/')}" if mlflow_url and cell.page else ""
