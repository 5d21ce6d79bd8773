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


BLOCKS: dict[str, Callable[[Path], str]] = {
    "table2": table2,
    "choices": choices,
    "loggers": loggers,
    "pairwise": pairwise,
    "additivity": additivity,
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
