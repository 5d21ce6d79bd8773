"""How the validation risk of a preset falls over the passes, to see where training should end.

    python benchmarks/validation_curve.py <mirror> tmc500 weighted --preset paper \
        --set epochs=200 passes_per_epoch=20 patience=10

One line per epoch goes into `results/validation_curves.csv`, in place of an earlier curve of the same
dataset, method, preset and seed. The log is split by context, as in `search_presets.py`. Seeds are not those
of the reported measurements, and no test data is read.
"""

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path

import torch
from bandit_data import open_benchmark
from search_presets import parsed, typed

from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import RiskSettings
from multilogger.components.loggers.replay import SplitBy

RESULTS = Path(__file__).parent / "results" / "validation_curves.csv"
KEY = ("dataset", "method", "preset", "seed")
COLUMNS = (*KEY, "passes", "validation_risk", "eligible", "best_passes", "mean_weights", "cpu_seconds")


class EnoughError(Exception):
    """The CPU time that was allowed is used up."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--preset", choices=PRESETS, default="paper")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="changes of the preset")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU time after which to stop")
    parser.add_argument("--results", type=Path, default=RESULTS, help="table that records the curve")
    return parser.parse_args()


def line_of(record: EpochRecord, passes: int, seconds: float) -> dict[str, str]:
    """One validation; `mean_weights` are those of the training rows, by logger."""
    return {
        "passes": str(record.epoch * passes),
        "validation_risk": f"{record.validation_risk:.4f}",
        "eligible": str(record.eligible).lower(),
        "best_passes": str(record.best_epoch * passes),
        "mean_weights": " ".join(f"{weight:.4f}" for weight in record.mean_weight),
        "cpu_seconds": f"{seconds:.0f}",
    }


def write_curve(path: Path, fresh: list[dict[str, str]]) -> None:
    """Put a curve into the table of all, in place of an earlier one of its key."""
    rows: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    made = {tuple(row[name] for name in KEY) for row in fresh}
    kept = [row for row in rows if tuple(row[name] for name in KEY) not in made]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept + fresh)


def main() -> None:
    arguments = parse()
    torch.set_num_threads(1)
    start = preset(arguments.preset, arguments.dataset, arguments.method)
    settings = replace(start, **typed(arguments.method, start, parsed(arguments.set)))
    passes = settings.passes_per_epoch if isinstance(settings, RiskSettings) else 1
    log = open_benchmark(arguments.mirror, arguments.dataset).log(arguments.seed, SplitBy.CONTEXT)
    key = {name: str(getattr(arguments, name)) for name in KEY}
    lines: list[dict[str, str]] = []
    started = time.process_time()

    def tell(record: EpochRecord) -> None:
        seconds = time.process_time() - started
        lines.append(key | line_of(record, passes, seconds))
        write_curve(arguments.results, lines)
        print(*lines[-1].values(), flush=True)  # noqa: T201
        if seconds > arguments.seconds:
            raise EnoughError

    try:
        learn(arguments.method, log, settings, arguments.seed, tell)
    except EnoughError:
        print(f"stopped after {arguments.seconds:g} seconds")  # noqa: T201


if __name__ == "__main__":
    main()
