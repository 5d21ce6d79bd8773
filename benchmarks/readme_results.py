"""Write the README's results from the files of a reproduction, so that its numbers are those files' numbers.

    multilogger reproduce all ... --out data/reproduction
    python benchmarks/readme_results.py

Everything between `<!-- NAME -->` and `<!-- end NAME -->` is replaced. `--check` only compares;
`tests/test_readme.py` calls it so.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path

from multilogger.components.reproduction.constraint_csv import read_constraint_csv
from multilogger.components.reproduction.constraint_rows import (
    AXES,
    ESTIMATORS,
    OURS,
    PRINTED,
    STEPS_AXIS,
    ConstraintRow,
)
from multilogger.components.reproduction.constraint_sections import rows_by_dataset
from multilogger.components.reproduction.constraint_words import constraint_paragraph
from multilogger.components.reproduction.page_sections import picture_name

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "data" / "reproduction"
README = ROOT / "README.md"

Row = dict[str, str]


def table2(folder: Path) -> str:
    """Methods down, datasets across, the paper's number beside ours."""
    rows = _read(folder / "table2.csv")
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cells = {(row["dataset"], row["method"]): row for row in rows}
    header = ["method", *(part for name in datasets for part in (name, "paper"))]
    lines = [
        [
            f"`{method}`",
            *(part for name in datasets for part in _with_paper(cells.get((name, method)))),
        ]
        for method in methods
    ]
    return _markdown(header, lines)


def choices(folder: Path) -> str:
    """What each choice changes, paired by seed."""
    rows = [row for row in _read(folder / "choices.csv") if row["choice"] != "default"]
    lines = [
        [
            f"`{row['method']}`",
            f"`{row['choice']}`",
            f"{float(row['exp_mean']):.3f}",
            f"{float(row['difference_mean']):+.3f}",
            f"{float(row['difference_low']):+.3f} to {float(row['difference_high']):+.3f}",
        ]
        for row in rows
    ]
    return _markdown(["method", "instead of our choice", "EXP", "difference", "95 %"], lines)


def loggers(folder: Path) -> str:
    """EXP by the number of loggers."""
    rows = _read(folder / "loggers.csv")
    counts = list(dict.fromkeys(row["loggers"] for row in rows))
    cells = {(row["method"], row["loggers"]): row for row in rows}
    lines = [
        [f"`{method}`", *(_mean(cells[method, count]) for count in counts)]
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    return _markdown(["method", *(f"{count} loggers" for count in counts)], lines)


def pairwise(folder: Path) -> str:
    """EXP where the loss does not add up."""
    lines = [[f"`{row['method']}`", _mean(row)] for row in _read(folder / "pairwise.csv")]
    return _markdown(["method", "EXP"], lines)


def additivity(folder: Path) -> str:
    """How often the test of each dataset rejected."""
    lines = [
        [row["dataset"], f"{row['rejected_seeds']} of {row['seeds']}", f"{float(row['median_p']):.2g}"]
        for row in _read(folder / "additivity.csv")
    ]
    return _markdown(["dataset", "seeds with p < 0.05", "median p"], lines)


def constraint(folder: Path) -> str:
    """When the constraint helps: a paragraph, two tables and the picture of each dataset, if it was run."""
    path = folder / "constraint.csv"
    if not path.exists():
        return ""
    rows = read_constraint_csv(path.read_text(encoding="utf-8"))
    return "\n\n".join(part for own in rows_by_dataset(rows).items() for part in _study(*own))


def _study(dataset: str, rows: list[ConstraintRow]) -> list[str]:
    found = {(row.axis, row.level, row.objective, row.estimator): row for row in rows}
    steps = dict.fromkeys(row.level for row in rows if row.axis == STEPS_AXIS)
    points = dict.fromkeys((row.axis, row.level) for row in rows if row.axis != STEPS_AXIS)
    step_lines = [
        [step, *(_change(found.get((STEPS_AXIS, step, step, e))) for e in ESTIMATORS)] for step in steps
    ]
    point_lines = [
        [
            f"{AXES[axis].title}: {level}",
            *(_change(found.get((axis, level, o, e))) for o in (PRINTED, OURS) for e in ESTIMATORS),
        ]
        for axis, level in points
    ]
    names = [f"`{estimator}-reg`" for estimator in ESTIMATORS]
    headed = [f"{objective}, {name}" for objective in (PRINTED, OURS) for name in names]
    picture = f"data/reproduction/{picture_name('constraint', dataset)}.svg"
    return [
        f"On {dataset}: {constraint_paragraph(rows)}",
        _markdown(["step", *names], step_lines),
        _markdown(["varied", *headed], point_lines),
        f"![When does the constraint help, {dataset}]({picture})",
    ]


def _change(row: ConstraintRow | None) -> str:
    """The paired difference and half its interval, bold where that excludes 0."""
    if row is None or row.difference.mean is None:
        return ""
    mean, half = round(row.difference.mean, 3) + 0.0, row.difference.half_width  # no negative zero
    text = f"{mean:+.3f}" if half is None else f"{mean:+.3f} ± {half:.3f}"
    return f"**{text}**" if row.helps or row.harms else text


BLOCKS: dict[str, Callable[[Path], str]] = {
    "table2": table2,
    "choices": choices,
    "loggers": loggers,
    "pairwise": pairwise,
    "additivity": additivity,
    "constraint": constraint,
}


def filled_in(text: str, folder: Path = RESULTS) -> str:
    """A README with every block written anew."""
    for name, write in BLOCKS.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(start)
        text = f"{before}{start}{write(folder)}\n{end}{rest.split(end, 1)[1]}"
    return text


def _with_paper(row: Row | None) -> tuple[str, str]:
    if row is None:
        return "", ""
    return _mean(row), f"{float(row['paper']):.3f}" if row["paper"] else ""


def _mean(row: Row) -> str:
    half = (float(row["exp_high"]) - float(row["exp_low"])) / 2
    return f"{float(row['exp_mean']):.3f} ± {half:.3f}"


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _markdown(header: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *lines))


def main() -> None:
    text = README.read_text(encoding="utf-8")
    if "--check" not in sys.argv:
        README.write_text(filled_in(text), encoding="utf-8")
    elif filled_in(text) != text:
        sys.exit("the README's results are not those of data/reproduction; run benchmarks/readme_results.py")


if __name__ == "__main__":
    main()
