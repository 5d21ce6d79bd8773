"""Take the tables and figures of reproductions into the repository, then write the results of its pages.

    multilogger reproduce table2 --dataset scene --dataset yeast --seeds 10 --out table2
    multilogger reproduce figure1 --dataset scene --dataset yeast --seeds 10 --out figures
    python benchmarks/gather_results.py table2 figures

Of every CSV file, the rows of a dataset and preset take the place of those of the same dataset and preset
that stood there; others stay. Tables of methods are replaced method by method, because some have more seeds
than others, or were made again alone. Claims are replaced one by one, each for the method that it speaks of,
because a claim about Figures 2 and 3 comes from two folders. Tables go to `data/reproduction`. Pictures have
dataset and preset in their names and are copied to `docs/pages/pictures`, where the pages show them; those of
Table 2, of `pairwise` and of one-of-K actions are drawn anew from the joined tables.
"""

import argparse
import csv
import io
import shutil
from pathlib import Path

from readme_results import PICTURES, RESULTS, Row, main, own_one_of

from multilogger.components.datasets.losses import HAMMING, ZERO_ONE
from multilogger.components.reproduction.names import OURS, method_rank, preset_rank
from multilogger.components.reproduction.plots.table2 import method_picture
from multilogger.components.reproduction.report.csv_text import read_sample
from multilogger.components.reproduction.report.sections import picture_name, rows_by_dataset
from multilogger.components.reproduction.statistics import MeanOverSeeds
from multilogger.components.reproduction.tables.one_of import OneOfRow
from multilogger.components.reproduction.tables.paper_tables import Table2Row

CLAIMS = "claims.csv"
BY_METHOD = ("table2.csv", "pairwise.csv", "one_of.csv")


def joined(name: str, old: str, new: str) -> str:
    """The rows of both files, those of the new one where both have a key; datasets in the order met."""
    readers = [csv.DictReader(io.StringIO(text)) for text in (old, new)]
    latest: dict[tuple[str, ...], list[Row]] = {}
    for reader in readers:
        own: dict[tuple[str, ...], list[Row]] = {}
        for row in reader:
            own.setdefault(_key(name, row), []).append(row)
        latest |= own
    datasets = list(dict.fromkeys(key[0] for key in latest))
    columns = dict.fromkeys(column for reader in reversed(readers) for column in reader.fieldnames or ())
    output = io.StringIO()
    writer = csv.DictWriter(output, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    for key in sorted(latest, key=lambda key: (datasets.index(key[0]), preset_rank(key[1]))):
        writer.writerows(latest[key])
    return output.getvalue()


def _key(name: str, row: Row) -> tuple[str, ...]:
    """Dataset and preset, if the file has one; of a claim its name too, and the method on the left."""
    found = (row["dataset"], row.get("preset") or "")
    if name in BY_METHOD:
        return (*found, row["method"])
    return (*found, row["claim"], row["comparison"].split()[0].rstrip(",")) if name == CLAIMS else found


def gather(folder: Path, results: Path, pictures: Path) -> None:
    """Join the CSV files of a folder with those that stand, and copy its pictures."""
    for path in sorted(folder.glob("*.csv")):
        kept = results / path.name
        old = kept.read_text(encoding="utf-8") if kept.exists() else ""
        kept.write_text(joined(path.name, old, path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in sorted(folder.glob("*.svg")):
        shutil.copy(path, pictures / path.name)
    draw_tables(results, pictures)


def draw_tables(results: Path, pictures: Path) -> None:
    """The pictures of Table 2 and of one-of-K actions, one per dataset, and of `pairwise`."""
    for dataset, rows in rows_by_dataset(method_rows(results / "table2.csv")).items():
        name = picture_name("table2", dataset)
        plot = method_picture(name, f"Table 2: {HAMMING.words.expected} · {dataset}", rows)
        (pictures / f"{name}.svg").write_bytes(plot.svg)
    if rows := method_rows(results / "pairwise.csv"):
        plot = method_picture("pairwise", "A loss that does not add up · pairwise", rows)
        (pictures / "pairwise.svg").write_bytes(plot.svg)
    for dataset, found in rows_by_dataset(own_one_of(results)).items():
        name, rows = (
            picture_name("one-of", dataset),
            [table_row(row) for row in found if not row.repeats_twin],
        )
        plot = method_picture(name, f"One of K actions · {dataset}", rows, ZERO_ONE.words.value)
        (pictures / f"{name}.svg").write_bytes(plot.svg)


def table_row(row: OneOfRow) -> Table2Row:
    """A method on one-of-K actions; `auto`, shown under its own preset, stands beside the others."""
    return Table2Row(row.dataset, row.method, OURS, (), row.exp, row.error, None)


def method_rows(path: Path) -> list[Table2Row]:
    """The rows of a table as they are shown, without those that repeat their direct twin."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row.get("constraint") != "same"]
    order = list(dict.fromkeys(row["dataset"] for row in found))
    found.sort(key=lambda r: (order.index(r["dataset"]), method_rank(r["method"]), preset_rank(r["preset"])))
    return [
        Table2Row(
            dataset=row["dataset"],
            method=row["method"],
            preset=row["preset"],
            cells=(),
            exp=read_sample({**row, "exp_seeds": row["seeds"]}, "exp"),
            greedy=MeanOverSeeds(int(row["seeds"]), float(row["greedy_mean"]), None, None, None),
            paper=float(row["paper"]) if row.get("paper") else None,
        )
        for row in found
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="what --out named")
    for each in parser.parse_args().folders:
        gather(each, RESULTS, PICTURES)
    main()
