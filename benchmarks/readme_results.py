"""Write the results in the README and in `docs/` from the files in `data/reproduction`.

    python benchmarks/readme_results.py

`gather_results.py` takes the files of a reproduction there, and calls this. Everything between
`<!-- NAME -->` and `<!-- end NAME -->` is replaced; `BLOCKS` says which page has which block. `--check` only
compares; `tests/test_readme.py` calls it so.
"""

import csv
import re
import sys
from collections.abc import Callable
from pathlib import Path

from multilogger.components.reproduction.claims.claims import IN_FEW_WORDS
from multilogger.components.reproduction.claims.verdicts import ClaimVerdict
from multilogger.components.reproduction.names import OURS, PRESET_TITLES, method_rank
from multilogger.components.reproduction.report.csv_files import read_constraint_csv
from multilogger.components.reproduction.report.numbers import signed
from multilogger.components.reproduction.report.one_of_csv import read_one_of_csv
from multilogger.components.reproduction.report.sections import picture_name, rows_by_dataset
from multilogger.components.reproduction.statistics import MeanOverSeeds, fixed, loss_digits, mean_over_seeds
from multilogger.components.reproduction.tables import constraint as study
from multilogger.components.reproduction.tables.constraint import constraint_paragraph
from multilogger.components.reproduction.tables.one_of import OneOfRow, one_of_paragraph
from multilogger.components.reproduction.tables.paper_tables import SAME_AS_DIRECT

ROOT = Path(__file__).resolve().parent.parent
SHOWN = {name: title for name, title in PRESET_TITLES.items() if name != "auto"}  # not of the paper
RESULTS = ROOT / "data" / "reproduction"
README = ROOT / "README.md"
RESULTS_PAGE = ROOT / "docs" / "pages" / "results.md"
PICTURES = ROOT / "docs" / "pages" / "pictures"

PRINTED = "paper"
SHORT = ("printed-objective", OURS)  # the presets of the short table

Row = dict[str, str]
Block = Callable[[Path], str]


def table2_short(folder: Path) -> str:
    """One table for all datasets: methods down, the means of two presets and the paper's number across."""
    rows = _read(folder / "table2.csv")
    columns: dict[str, dict[str, str]] = {}
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == dataset]
        for preset in SHORT:
            chosen = [row for row in own if row["preset"] == preset]
            columns[f"{dataset}, {PRESET_TITLES[preset]}"] = {row["method"]: _short(row) for row in chosen}
        columns[f"{dataset}, paper"] = {r["method"]: f"{float(r['paper']):.3f}" for r in own if r["paper"]}
    shown = {title: cells for title, cells in columns.items() if cells}
    methods = sorted({row["method"] for row in rows}, key=method_rank)
    lines = [[f"`{method}`", *(cells.get(method, "") for cells in shown.values())] for method in methods]
    return _markdown(["method", *shown], lines)


def table2(folder: Path) -> str:
    """One table per dataset: methods down, presets across, the paper's number last."""
    rows = _read(folder / "table2.csv")
    return "\n\n".join(
        f"**{name}**\n\n{_by_preset([row for row in rows if row['dataset'] == name])}"
        for name in dict.fromkeys(row["dataset"] for row in rows)
    )


def _by_preset(rows: list[Row]) -> str:
    cells = {(row["method"], row["preset"]): row for row in rows}
    paper = {row["method"]: f"{float(row['paper']):.3f}" if row["paper"] else "" for row in rows}
    lines = [
        [f"`{method}`", *(_exp(cells.get((method, preset))) for preset in SHOWN), paper[method]]
        for method in sorted(paper, key=method_rank)
    ]
    return _markdown(["method", *SHOWN.values(), "paper"], lines)


def one_of(folder: Path) -> str:
    """Datasets whose action is one of K: one table, then what each shows in words, and its picture."""
    own = own_one_of(folder)
    if not own:
        return ""
    datasets = rows_by_dataset(own)
    methods = sorted({row.method for row in own}, key=method_rank)
    found = {(row.dataset, row.method): row for row in own}
    lines = [
        [
            f"`{method}`",
            *(text for dataset in datasets for text in _exp_and_error(found.get((dataset, method)))),
            str(min(row.exp.count for row in own if row.method == method)),
        ]
        for method in methods
    ]
    header = ["method", *(f"{dataset}, {what}" for dataset in datasets for what in ("EXP", "error")), "seeds"]
    return "\n\n".join(
        [
            _markdown(header, lines),
            *(f"On {dataset}: {one_of_paragraph(rows)}" for dataset, rows in datasets.items()),
            *(
                f"![EXP and error, {dataset}](pictures/{picture_name('one-of', dataset)}.svg)"
                for dataset in datasets
            ),
        ]
    )


def own_one_of(folder: Path) -> list[OneOfRow]:
    """Our rows of one-of-K actions: those of our preset, and `auto` under the preset of its name."""
    path = folder / "one_of.csv"
    rows = read_one_of_csv(path.read_text(encoding="utf-8")) if path.exists() else []
    own = [row for row in rows if row.preset == OURS or row.preset == row.method == "auto"]
    return sorted(own, key=lambda row: method_rank(row.method))


def _exp_and_error(row: OneOfRow | None) -> tuple[str, str]:
    if row is None:
        return ("", "")
    return (SAME_AS_DIRECT, "") if row.repeats_twin else (_sample(row.exp), _sample(row.error))


def _sample(sample: MeanOverSeeds) -> str:
    if sample.mean is None:
        return ""
    half, digits = sample.half_width, loss_digits(sample.mean)
    text = fixed(sample.mean, digits)
    return text if half is None else f"{text} ± {fixed(half, digits)}"


def one_of_obp(folder: Path) -> str:
    """Open Bandit Pipeline's learner on the same logs, by `obp_learner.py`, if it was run."""
    path = folder / "one_of_obp.csv"
    rows = _read(path) if path.exists() else []
    if not rows:
        return ""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = []
    for how in dict.fromkeys(row["propensities"] for row in rows):
        own = [[r for r in rows if (r["propensities"], r["dataset"]) == (how, name)] for name in datasets]
        cells = [_over(found, what) for found in own for what in ("exp", "error")]
        lines.append([f"`NNPolicyLearner`, {how}", *cells, str(min(map(len, own)))])
    header = ["learner", *(f"{name}, {what}" for name in datasets for what in ("EXP", "error")), "seeds"]
    words = (
        "Open Bandit Pipeline's `NNPolicyLearner` on the same logs. It learns for one logger, so it was "
        "given the propensity of each row's own logger (own), or that of their mixture (h_avg). Its "
        "settings, and how they were chosen, stand in `benchmarks/obp_learner.py`."
    )
    return f"{words}\n\n{_markdown(header, lines)}"


def _over(rows: list[Row], what: str) -> str:
    return _sample(mean_over_seeds([float(row[what]) for row in rows]))


def calibration(folder: Path) -> str:
    """How often the loss models of these datasets are off."""
    path = folder / "calibration.csv"
    lines = [
        [row["dataset"], f"`{row['method']}`", f"{row['off_seeds']} of {row['seeds']}", row["median_p"]]
        for row in (_ours(path) if path.exists() else [])
    ]
    return _markdown(["dataset", "method", "seeds where it is off", "median p"], lines) if lines else ""


def claims(folder: Path) -> str:
    """Each test of the paper's claims: presets across, the difference with its interval and the verdict."""
    path = folder / "claims.csv"
    rows = _read(path) if path.exists() else []
    names = list(IN_FEW_WORDS)
    cells = {(row["claim"], _comparison(row), row["dataset"], row["preset"]): row for row in rows}
    lines = [
        [
            f"{IN_FEW_WORDS[claim]}: {comparison}",
            dataset,
            *(_tested(cells.get((claim, comparison, dataset, preset))) for preset in SHOWN),
        ]
        for claim, comparison, dataset in sorted(
            dict.fromkeys(key[:3] for key in cells), key=lambda key: names.index(key[0])
        )
    ]
    return _markdown(["claim", "dataset", *SHOWN.values()], lines) if lines else ""


def _comparison(row: Row) -> str:
    """What is compared; the temperature that does worst may be another under another preset."""
    return re.sub(r" at τ\s=\s\S+", "", row["comparison"])


def _tested(row: Row | None) -> str:
    """`−0.123 (−0.150 to −0.096) holds`; a policy that is compared with itself has no difference to show."""
    if row is None:
        return ""
    verdict = row["verdict"].removesuffix(" with these seeds")
    if verdict == ClaimVerdict.SAME or not row["difference_mean"]:
        return verdict
    digits = 4 if row["claim"].startswith("replay-") else 3
    mean, *ends = (
        signed(float(row[f"difference_{part}"]), digits) if row[f"difference_{part}"] else ""
        for part in ("mean", "low", "high")
    )
    return f"{mean} ({' to '.join(ends)}) {verdict}" if all(ends) else f"{mean} {verdict}"


def choices(folder: Path) -> str:
    """What each choice changes, paired by seed."""
    rows = [row for row in _ours(folder / "choices.csv") if row["choice"] != "default"]
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


def unprinted(folder: Path) -> str:
    """What each unprinted choice makes of the printed settings: methods across, the paper's numbers last.

    A cell has EXP and its difference to the printed settings, paired by seed, with half the 95 % interval.
    The last column is the mean over the methods of |EXP - the paper's|.
    """
    rows = [row for row in _read(folder / "choices.csv") if row["preset"] == PRINTED]
    if not rows:
        return ""
    dataset = rows[0]["dataset"]
    of_dataset = [row for row in _read(folder / "table2.csv") if row["dataset"] == dataset and row["paper"]]
    paper = {row["method"]: float(row["paper"]) for row in of_dataset}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cells = {(row["choice"], row["method"]): row for row in rows}
    lines = []
    for choice in dict.fromkeys(row["choice"] for row in rows):
        own = {method: cells[choice, method] for method in methods}
        away = sum(abs(float(row["exp_mean"]) - paper[method]) for method, row in own.items()) / len(own)
        name = "nothing" if choice == "default" else f"`{choice}`"
        lines.append([name, *map(_moved, own.values()), f"{away:.2f}"])
    lines.append(["paper", *(f"{paper[method]:.3f}" for method in methods), ""])
    return _markdown(["changed", *(f"`{method}`" for method in methods), "from the paper"], lines)


def _moved(row: Row) -> str:
    """EXP, and its paired difference with half the interval, bold where that excludes 0."""
    exp = f"{float(row['exp_mean']):.3f}"
    if not row["difference_low"]:
        return exp
    mean, low, high = (float(row[f"difference_{part}"]) for part in ("mean", "low", "high"))
    text = f"{mean:+.3f} ± {(high - low) / 2:.3f}"
    return f"{exp} (**{text}**)" if low > 0 or high < 0 else f"{exp} ({text})"


def loggers(folder: Path) -> str:
    """EXP by the number of loggers."""
    rows = _ours(folder / "loggers.csv")
    counts = list(dict.fromkeys(row["loggers"] for row in rows))
    cells = {(row["method"], row["loggers"]): row for row in rows}
    lines = [
        [f"`{method}`", *(_mean(cells[method, count]) for count in counts)]
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    return _markdown(["method", *(f"{count} loggers" for count in counts)], lines)


def pairwise(folder: Path) -> str:
    """EXP where the loss does not add up."""
    lines = [[f"`{row['method']}`", _mean(row)] for row in _ours(folder / "pairwise.csv")]
    return _markdown(["method", "EXP"], lines)


def additivity(folder: Path) -> str:
    """How often the test of each dataset rejected."""
    lines = [
        [row["dataset"], f"{row['rejected_seeds']} of {row['seeds']}", f"{float(row['median_p']):.2g}"]
        for row in _ours(folder / "additivity.csv")
    ]
    return _markdown(["dataset", "seeds with p < 0.05", "median p"], lines)


def constraint(folder: Path) -> str:
    """When the constraint helps: a paragraph, two tables and the picture of each dataset, if it was run."""
    path = folder / "constraint.csv"
    if not path.exists():
        return ""
    rows = read_constraint_csv(path.read_text(encoding="utf-8"))
    return "\n\n".join(part for own in rows_by_dataset(rows).items() for part in _study(*own))


def _study(dataset: str, rows: list[study.ConstraintRow]) -> list[str]:
    found = {(row.axis, row.level, row.objective, row.estimator): row for row in rows}
    steps = dict.fromkeys(row.level for row in rows if row.axis == study.STEPS_AXIS)
    points = dict.fromkeys((row.axis, row.level) for row in rows if row.axis != study.STEPS_AXIS)
    step_lines = [
        [step, *(_change(found.get((study.STEPS_AXIS, step, step, e))) for e in study.ESTIMATORS)]
        for step in steps
    ]
    point_lines = [
        [
            f"{study.AXES[axis].title}: {level}",
            *(
                _change(found.get((axis, level, o, e)))
                for o in (study.PRINTED, study.OURS)
                for e in study.ESTIMATORS
            ),
        ]
        for axis, level in points
    ]
    names = [f"`{estimator}-reg`" for estimator in study.ESTIMATORS]
    headed = [f"{objective}, {name}" for objective in (study.PRINTED, study.OURS) for name in names]
    picture = f"pictures/{picture_name('constraint', dataset)}.svg"
    return [
        f"On {dataset}: {constraint_paragraph(rows)}",
        _markdown(["step", *names], step_lines),
        _markdown(["varied", *headed], point_lines),
        f"![When does the constraint help, {dataset}]({picture})",
    ]


def _change(row: study.ConstraintRow | None) -> str:
    """The paired difference and half its interval, bold where that excludes 0."""
    if row is None or row.difference.mean is None:
        return ""
    mean, half = round(row.difference.mean, 3) + 0.0, row.difference.half_width  # no negative zero
    text = f"{mean:+.3f}" if half is None else f"{mean:+.3f} ± {half:.3f}"
    return f"**{text}**" if row.helps or row.harms else text


BLOCKS: dict[Path, dict[str, Block]] = {
    README: {"table2-short": table2_short},
    RESULTS_PAGE: {
        "table2": table2,
        "one-of": one_of,
        "one-of-obp": one_of_obp,
        "calibration": calibration,
        "claims": claims,
        "choices": choices,
        "unprinted": unprinted,
        "loggers": loggers,
        "pairwise": pairwise,
        "additivity": additivity,
        "constraint": constraint,
    },
}


def filled_in(text: str, blocks: dict[str, Block], folder: Path = RESULTS) -> str:
    """A page with each of its blocks written anew."""
    for name, write in blocks.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(start)
        block = f"{written}\n" if (written := write(folder)) else ""
        text = f"{before}{start}{block}{end}{rest.split(end, 1)[1]}"
    return text


def _exp(row: Row | None) -> str:
    if row is None:
        return ""
    return SAME_AS_DIRECT if row.get("constraint") == "same" else _mean(row)


def _short(row: Row) -> str:
    if row.get("constraint") == "same":
        return SAME_AS_DIRECT
    return f"{float(row['exp_mean']):.3f}" if row["exp_mean"] else ""


def _mean(row: Row) -> str:
    if not row["exp_low"]:
        return f"{float(row['exp_mean']):.3f}" if row["exp_mean"] else ""
    half = (float(row["exp_high"]) - float(row["exp_low"])) / 2
    return f"{float(row['exp_mean']):.3f} ± {half:.3f}"


def _ours(path: Path) -> list[Row]:
    """The rows of our own preset; what goes beyond the paper is shown under it alone."""
    return [row for row in _read(path) if row["preset"] == OURS]


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _markdown(header: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *lines))


def main() -> None:
    for page, blocks in BLOCKS.items():
        text = page.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            page.write_text(filled_in(text, blocks), encoding="utf-8")
        elif filled_in(text, blocks) != text:
            name = page.relative_to(ROOT)
            sys.exit(
                f"the results in {name} are not those of data/reproduction; run benchmarks/readme_results.py"
            )


if __name__ == "__main__":
    main()
