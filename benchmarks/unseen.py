"""Data that nobody tuned for: how near do methods come to the limit, with no setting given?

Of every pair of svmlight files in a folder (`name_train...` and `name_test...`, plain, .bz2 or .gz, with
labels or with classes) each seed makes a log of two loggers, as `multilogger learn` does; every method learns
from it under one preset, and its expected loss on test stands beside that of the best logger, of the same
logger when greedy, and of the limit: `full-information` under `auto`, which sees the right actions.

    python benchmarks/unseen.py FOLDER [--methods additive,dr] [--preset auto] [--seeds 5] [--only birds]
"""

import argparse
import bz2
import gzip
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

import multilogger as ml
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.learners.methods import METHODS

OPENERS = {".bz2": bz2.open, ".gz": gzip.open}
USUAL = {"labels": ("additive", "dr"), "one-of": ("dm", "dr")}
LIMIT, GREEDY, LOGGER = "full-information", "best logger, greedy", "best logger"


@dataclass(frozen=True)
class Pair:
    """Two files of one dataset, and what they must look like."""

    name: str
    train: Path
    test: Path
    features: int
    labels: int | None
    classes: int | None

    def load(self, path: Path) -> LabelledData:
        return ml.datasets.load_svmlight(path, self.features, self.labels, classes=self.classes)


def find_pairs(folder: Path) -> Iterator[Pair]:
    """Every dataset of a folder that has a train and a test file."""
    for train in sorted(folder.glob("*_train*")):
        name, _, rest = train.name.partition("_train")
        test = train.with_name(f"{name}_test{rest}")
        if test.is_file():
            yield look_at(name, train, test)


def look_at(name: str, train: Path, test: Path) -> Pair:
    """How many features there are, and whether rows have labels or a class.

    A file in which a row has several labels, or none, is of labels.
    """
    features, labelled, targets = 0, False, set[float]()
    for path in (train, test):
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            for line in file:
                first, *rest = line.split(b"#")[0].split() or [b""]
                if b":" in first:
                    first, rest = b"", [first, *rest]
                labelled |= first == b"" or b"," in first
                targets |= {float(one) for one in first.split(b",") if one}
                features = max(features, *(int(one.split(b":")[0]) for one in rest), 0)
    size = int(max(targets)) + 1 if labelled else len(targets)
    return Pair(name, train, test, features, size if labelled else None, None if labelled else size)


def measure(pair: Pair, methods: tuple[str, ...], preset: str, seed: int) -> dict[str, float]:
    """The expected loss on test of everything, by name, and the seconds that each method took."""
    train, test = pair.load(pair.train), pair.load(pair.test)
    log = ml.datasets.replay(train, seed=seed, validation=0.25, split_by="context")
    paid = [float(log.loss[log.logger == j].mean()) for j in range(len(log.loggers))]
    best = log.logger_policies[int(np.argmin(paid))]
    found = {
        LOGGER: ml.datasets.expected_loss(best, test),
        GREEDY: greedy_loss(best, test),
    }
    for method, own in ((LIMIT, "auto"), *((one, preset) for one in methods)):
        started = time.process_time()
        learned = ml.learner(method, preset=own, seed=seed).fit(log)
        found[method] = ml.datasets.expected_loss(learned, test)
        found[f"{method}, seconds"] = time.process_time() - started
    return found


def greedy_loss(policy: ml.Policy, test: LabelledData) -> float:
    """Of what a policy finds most likely: wrong labels, or the share of wrong classes."""
    chances = policy.predict_proba(test.x)
    if test.y.ndim == 2:
        return float(np.abs((chances > 0.5).astype(float) - test.y).sum(axis=1).mean())
    return float((chances.argmax(axis=1) != test.y).mean())


def row(pair: Pair, found: list[dict[str, float]], methods: tuple[str, ...]) -> str:
    """A line of the table: means over seeds, and of each method its ratios and its worst seed's."""
    means = {name: mean(one[name] for one in found) for name in found[0]}
    cells = [pair.name, f"{means[LOGGER]:.3f}", f"{means[GREEDY]:.3f}", f"{means[LIMIT]:.3f}"]
    for method in methods:
        worst = max(one[method] / one[LOGGER] for one in found)
        cells.append(
            f"{means[method]:.3f} ({means[method] / means[LIMIT]:.2f}, {means[method] / means[GREEDY]:.2f}, "
            f"{worst:.2f}; {means[f'{method}, seconds']:.0f} s)"
        )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", default="", help="by default those of the kind of actions, and auto")
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="names of datasets")
    given = parser.parse_args()
    only = [name for name in given.only.split(",") if name]
    shown: tuple[str, ...] = ()
    for pair in find_pairs(given.folder):
        if only and pair.name not in only:
            continue
        kind = "labels" if pair.labels else "one-of"
        asked = tuple(name for name in given.methods.split(",") if name)
        methods = asked or (*USUAL[kind], *(("auto",) if "auto" in METHODS else ()))
        if methods != shown:
            names = [f"{name} (to limit, to greedy, worst seed to logger)" for name in methods]
            head = ["dataset", LOGGER, GREEDY, "limit", *names]
            sys.stdout.write(f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n")
            shown = methods
        found = [measure(pair, methods, given.preset, seed) for seed in range(given.seeds)]
        sys.stdout.write(f"{row(pair, found, methods)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
