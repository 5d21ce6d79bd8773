"""Everything that a reproduction leaves behind: CSV files, plots, and the report, in one folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from multilogger.components.datasets.losses import HAMMING, ZERO_ONE
from multilogger.components.reproduction.claims.claims import judged_claims
from multilogger.components.reproduction.claims.table2 import additive_claims
from multilogger.components.reproduction.plots.canvas import Plot
from multilogger.components.reproduction.plots.constraint import constraint_picture
from multilogger.components.reproduction.plots.sweeps import sweep_picture
from multilogger.components.reproduction.plots.table2 import method_picture
from multilogger.components.reproduction.report.csv_files import (
    additivity_csv,
    choices_csv,
    claims_csv,
    constraint_csv,
    failed_csv,
    loggers_csv,
    pairwise_csv,
    sweep_csv,
    table1_csv,
    table2_csv,
)
from multilogger.components.reproduction.report.one_of_csv import calibration_csv, one_of_csv
from multilogger.components.reproduction.report.page import Contents, render_page
from multilogger.components.reproduction.report.sections import by_preset, picture_name, rows_by_dataset
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.tables.constraint import constraint_rows
from multilogger.components.reproduction.tables.one_of import calibration_rows, one_of_rows, one_of_table
from multilogger.components.reproduction.tables.paper_tables import pairwise_rows, table1_rows, table2_rows
from multilogger.components.reproduction.tables.studies import additivity_rows, choice_rows, logger_study_rows
from multilogger.components.reproduction.tables.sweeps import FIGURES, sweep_rows

FAILED = "failed.csv"


def write_outputs(
    reproduction: Reproduction,
    folder: Path,
    mlflow_url: str,
    commands: Sequence[str],
    origin: Mapping[str, str],
) -> list[Path]:
    """Write the files of all parts that were run; the same input gives the same bytes.

    `mlflow_url` is the address that cells' pages stand below, `commands` are those that made the results, and
    `origin` names facts to show with them, such as version, preset and seeds. Returns the files written.
    """
    contents = _contents(reproduction, mlflow_url, commands, origin)
    written = {name: text.encode() for name, text in _csv_files(contents).items()}
    for picture in contents.pictures.values():
        written |= {f"{picture.name}.svg": picture.svg, f"{picture.name}.png": picture.png}
    written["report.html"] = render_page(contents).encode()
    folder.mkdir(parents=True, exist_ok=True)
    if FAILED not in written:
        (folder / FAILED).unlink(missing_ok=True)  # of an earlier try, whose holes are filled now
    for name, content in written.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in written]


def _contents(
    reproduction: Reproduction, mlflow_url: str, commands: Sequence[str], origin: Mapping[str, str]
) -> Contents:
    table2, pairwise = table2_rows(reproduction), pairwise_rows(reproduction)
    one_of = one_of_table(reproduction)
    sweeps = {figure: rows for figure in FIGURES if (rows := sweep_rows(reproduction, figure))}
    pictures: dict[str, Plot] = {}
    for dataset, own in rows_by_dataset(table2).items():
        name = picture_name("table2", dataset)
        pictures[name] = method_picture(name, f"Table 2: {HAMMING.words.expected} · {dataset}", own)
    for dataset, own in rows_by_dataset(one_of).items():
        name = picture_name("one-of", dataset)
        pictures[name] = method_picture(name, f"One of K actions · {dataset}", own, ZERO_ONE.words.value)
    if pairwise:
        pictures["pairwise"] = method_picture("pairwise", "A loss that does not add up · pairwise", pairwise)
    for figure, rows in sweeps.items():
        for (dataset, preset), points in by_preset(rows).items():
            name = picture_name(figure, dataset, preset)
            pictures[name] = sweep_picture(name, figure, preset, list(points))
    constraint = constraint_rows(reproduction)
    for dataset, found in rows_by_dataset(constraint).items():
        name = picture_name("constraint", dataset)
        pictures[name] = constraint_picture(name, dataset, found)
    return Contents(
        reproduction=reproduction,
        claims=judged_claims(reproduction),
        table1=table1_rows(reproduction),
        table2=table2,
        one_of=one_of,
        sweeps=sweeps,
        choices=choice_rows(reproduction),
        loggers=logger_study_rows(reproduction),
        pairwise=pairwise,
        constraint=constraint,
        additivity=additivity_rows(reproduction),
        own_claims=additive_claims(reproduction),
        pictures=pictures,
        mlflow_url=mlflow_url,
        commands=commands,
        origin=origin,
    )


def _csv_files(contents: Contents) -> dict[str, str]:
    files = {
        "table1.csv": table1_csv(contents.table1),
        "table2.csv": table2_csv(contents.table2),
        "one_of.csv": one_of_csv(one_of_rows(contents.one_of)),
        "calibration.csv": calibration_csv(calibration_rows(contents.one_of)),
        **{f"{figure}.csv": sweep_csv(figure, rows) for figure, rows in contents.sweeps.items()},
        "claims.csv": claims_csv(contents.claims),
        "choices.csv": choices_csv(contents.choices),
        "loggers.csv": loggers_csv(contents.loggers),
        "pairwise.csv": pairwise_csv(contents.pairwise),
        "constraint.csv": constraint_csv(contents.constraint),
        "additivity.csv": additivity_csv(contents.additivity),
        FAILED: failed_csv(contents.reproduction),
    }
    return {name: text for name, text in files.items() if text}
