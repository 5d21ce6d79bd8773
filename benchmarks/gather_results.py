"""Take the tables and figures of reproductions into `data/reproduction`, then write the README's results.

    multilogger reproduce table2 --dataset scene --dataset yeast --seeds 10 --out table2
    multilogger reproduce figure1 --dataset scene --dataset yeast --seeds 10 --out figures
    python benchmarks/gather_results.py table2 figures

Of every CSV file, the rows of a dataset take the place of those of the same dataset that stood there; other
datasets stay. Pictures have a dataset in their names and are copied.
"""

import argparse
import csv
import io
import shutil
from pathlib import Path

from readme_results import RESULTS, main

DATASET = "dataset"


def joined(old: str, new: str) -> str:
    """The rows of both files, those of the new one where both have a dataset, datasets in the order met."""
    tables = [list(csv.DictReader(io.StringIO(text))) for text in (old, new)]
    latest = {row[DATASET]: rows for rows in tables for row in rows}
    output = io.StringIO()
    writer = csv.DictWriter(output, csv.DictReader(io.StringIO(new)).fieldnames or [], lineterminator="\n")
    writer.writeheader()
    for dataset, rows in latest.items():
        writer.writerows(row for row in rows if row[DATASET] == dataset)
    return output.getvalue()


def gather(folder: Path, results: Path) -> None:
    for path in sorted(folder.glob("*.csv")):
        kept = results / path.name
        old = kept.read_text(encoding="utf-8") if kept.exists() else ""
        kept.write_text(joined(old, path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in sorted(folder.glob("*.svg")):
        shutil.copy(path, results / path.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="what --out named")
    for each in parser.parse_args().folders:
        gather(each, RESULTS)
    main()
