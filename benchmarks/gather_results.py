"""Take the tables and figures of reproductions into the repository, then write the results of its pages.

    multilogger reproduce table2 --dataset scene --dataset yeast --seeds 10 --out table2
    multilogger reproduce figure1 --dataset scene --dataset yeast --seeds 10 --out figures
    python benchmarks/gather_results.py table2 figures

Of every CSV file, the rows of a dataset and preset take the place of those of the same dataset and preset
that stood there; others stay. Tables of methods are replaced method by method, because some have more seeds
than others, or were made again alone. Claims are replaced one by one, each for the method that it speaks of,
because a claim about Figures 2 and 3 comes from two folders. Tables go to `data/reproduction`. Pictures have
dataset and preset in their names and are copied to `docs/pages/pictures`, where the pages show them.
"""

import argparse
import csv
import io
import shutil
from pathlib import Path

from readme_results import PICTURES, RESULTS, Row, main

from multilogger.components.reproduction.names import preset_rank

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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="what --out named")
    for each in parser.parse_args().folders:
        gather(each, RESULTS, PICTURES)
    main()
