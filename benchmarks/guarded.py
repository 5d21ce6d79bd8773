"""Is every method either below the better logger on test, or does it say that it is not?

Of every pair of svmlight files in some folders (see `unseen.py`), and of embedded datasets by name, one seed
makes a log of two loggers, as `multilogger learn` does. Every method that knows the actions learns from it
under one preset. A row per method: EXP on test, that of the best logger, and what the method said of itself.
The verdict is `better`, `worse, said`, `worse, silent`, which is the failure, or `better, doubted`.

    python benchmarks/guarded.py FOLDER... [--embedded digits-one-of] [--only birds] [--out found.csv]

A row that stands in the file of `--out` already is not measured again.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from unseen import find_pairs

import multilogger as ml
from multilogger.components.api.log_files import training_log
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.datasets.registry import find_dataset
from multilogger.components.learners.judging.guard import Guard
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.methods import METHODS

VALIDATION = 0.25
DIGITS = 4


@dataclass(frozen=True)
class Split:
    """A dataset by its name, with what learns and what tests."""

    name: str
    train: LabelledData
    test: LabelledData
    loss: str | None = None


@dataclass(frozen=True)
class Found:
    """A method on a dataset: what it loses on test, what the best logger does, and what was said.

    `gain` is how much less it loses by its own estimate, `standard_error` of that, `effective_rows` what
    weights are worth; empty where nothing was compared. `said` is the guard's note, or the verdict of `auto`.
    """

    dataset: str
    seed: int
    method: str
    exp: float
    logger: float
    verdict: str
    said: str
    gain: float | None
    standard_error: float | None
    effective_rows: float | None
    seconds: float


def splits(folders: list[Path], embedded: list[str], only: list[str]) -> Iterator[Split]:
    """Embedded datasets, then every pair of files."""
    for name in embedded:
        data = ml.datasets.load_dataset(name)
        yield Split(name, data.train, data.test, find_dataset(name).loss)
    for folder in folders:
        for pair in find_pairs(folder):
            if not only or pair.name in only:
                yield Split(pair.name, pair.load(pair.train), pair.load(pair.test))


def measure(split: Split, methods: list[str], preset: str, seed: int) -> Iterator[Found]:
    """Every method on the same log."""
    log = ml.datasets.replay(
        split.train, seed=seed, validation=VALIDATION, split_by="context", loss=split.loss
    )
    paid = [float(log.loss[log.logger == j].mean()) for j in range(len(log.loggers))]
    logger = ml.datasets.expected_loss(log.logger_policies[int(np.argmin(paid))], split.test, split.loss)
    rows = training_log(log, VALIDATION, "context", seed)
    for method in methods:
        started = time.process_time()
        settings = ml.learner(method, preset=preset, seed=seed).settings_for(log.space.name)
        learned = learn(method, rows, settings, seed)
        policy = ml.Policy(learned.policy, log.columns, log.actions, log.space, method)
        exp = ml.datasets.expected_loss(policy, split.test, split.loss)
        said, guard = said_of(learned), learned.guard
        yield Found(
            dataset=split.name,
            seed=seed,
            method=method,
            exp=round(exp, DIGITS),
            logger=round(logger, DIGITS),
            verdict=verdict(exp < logger, bool(said)),
            said=said,
            gain=guard and round(guard.gain, DIGITS),
            standard_error=guard and round(guard.standard_error, DIGITS),
            effective_rows=guard and round(guard.effective_rows, 1),
            seconds=round(time.process_time() - started, 1),
        )


def said_of(learned: Learned) -> str:
    """What speaks against the policy, by the method itself; empty where it says nothing of the kind."""
    if learned.verdict is not None and learned.verdict.chosen is None:
        return "improvement: none shown"
    guard: Guard | None = learned.guard
    return "" if guard is None else guard.short()


def verdict(better: bool, spoke: bool) -> str:
    if better:
        return "better, doubted" if spoke else "better"
    return "worse, said" if spoke else "worse, silent"


def known(path: Path | None) -> list[dict[str, str]]:
    """The rows of an earlier run."""
    if path is None or not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--embedded", default="", help="names of embedded datasets, which come first")
    parser.add_argument("--only", default="", help="names of datasets in the folders")
    parser.add_argument("--methods", default="", help="by default all that know the actions")
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    asked, embedded, only = (
        [name for name in text.split(",") if name] for text in (given.methods, given.embedded, given.only)
    )
    rows = known(given.out)
    done = {(row["dataset"], int(row["seed"]), row["method"]) for row in rows}
    with given.out.open("a", newline="") if given.out else sys.stdout as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Found)], lineterminator="\n")
        if not rows:
            writer.writeheader()
        for split in splits(given.folders, embedded, only):
            fitting = [name for name in METHODS if split.train.space.name in METHODS[name].spaces]
            methods = [
                name
                for name in (asked or fitting)
                if name in fitting and (split.name, given.seed, name) not in done
            ]
            for found in measure(split, methods, given.preset, given.seed):
                writer.writerow(asdict(found))
                file.flush()


if __name__ == "__main__":
    main()
