"""Time and quality of the closed-form constraint beside the variational one, in one run on one thread.

    python benchmarks/exact_against_variational.py <mirror> yeast
    python benchmarks/exact_against_variational.py <mirror> yeast --seeds 0 1 2 3 4 --split-by row --test

Scores of a split by row favour whichever has learned its contexts by heart, so the split is by context.
Each seed's log is learned from by both versions of a method in turn, so that a busy machine slows both alike.
Times are of learning alone, in CPU seconds, the best of `--repeats`. Only `--test` reads a test split: for
after all choices are made.
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from bandit_data import Benchmark, open_benchmark

from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.settings import RiskSettings
from multilogger.components.log.memory import TrainingLog
from multilogger.components.loggers.replay import SplitBy

OBJECTIVES = ("naive", "weighted", "balanced")


@dataclass(frozen=True)
class Outcome:
    """One seed of one method."""

    seconds: float
    epochs: int
    risk: float
    score: float
    exp: float


def timed(method: str, dataset: str, log: TrainingLog, seed: int) -> tuple[float, Learned]:
    settings = preset("tuned", dataset, method)
    started = time.process_time()
    learned = learn(method, log, settings, seed)
    return time.process_time() - started, learned


def pair(
    methods: tuple[str, str],
    benchmark: Benchmark,
    seed: int,
    arguments: argparse.Namespace,
    test: LabelledData | None,
) -> tuple[Outcome, Outcome]:
    """Both versions on one log, run in turn `--repeats` times."""
    log = benchmark.log(seed, arguments.split_by)
    rounds = [
        [timed(method, benchmark.name, log, seed) for method in methods] for _ in range(arguments.repeats)
    ]
    first, second = (_outcome(min(entry[i][0] for entry in rounds), rounds[0][i][1], test) for i in range(2))
    return first, second


def _outcome(seconds: float, learned: Learned, test: LabelledData | None) -> Outcome:
    best = learned.best
    exp = (
        float("nan")
        if test is None
        else float(expected_hamming(learned.policy.logits(test.x), test.y).mean())
    )
    return Outcome(seconds, len(learned.records), best.validation_risk, best.validation_score, exp)


def _means(outcomes: list[Outcome], name: str) -> float:
    return statistics.fmean(getattr(outcome, name) for outcome in outcomes)


def report(methods: tuple[str, str], pairs: list[tuple[Outcome, Outcome]], with_test: bool) -> None:
    for i, method in enumerate(methods):
        outcomes = [both[i] for both in pairs]
        exp = f"  EXP {_means(outcomes, 'exp'):.4f}" if with_test else ""
        print(  # noqa: T201
            f"{method:15} {_means(outcomes, 'seconds'):7.2f} s  {_means(outcomes, 'epochs'):3.0f} epochs"
            f"  validation risk {_means(outcomes, 'risk'):.4f}  score {_means(outcomes, 'score'):.4f}{exp}"
        )
    ratios = [variational.seconds / exact.seconds for variational, exact in pairs]
    gain = _means([p[0] for p in pairs], "score") - _means([p[1] for p in pairs], "score")
    better = (
        f", EXP lower by {_means([p[0] for p in pairs], 'exp') - _means([p[1] for p in pairs], 'exp'):.4f}"
    )
    print(  # noqa: T201
        f"  exact is {statistics.fmean(ratios):.1f} times faster (least {min(ratios):.1f}), "
        f"validation score lower by {gain:.4f}{better if with_test else ''}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=list(OBJECTIVES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102, 103])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--split-by", type=SplitBy, default=SplitBy.CONTEXT)
    parser.add_argument("--test", action="store_true", help="also EXP on test")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    benchmark = open_benchmark(arguments.mirror, arguments.dataset)
    test = benchmark.test() if arguments.test else None
    # The first optimiser of a process loads parts of torch for a second or two.
    learn("naive", benchmark.log(0), RiskSettings(epochs=1), 0)
    for objective in arguments.objectives:
        methods = (f"{objective}-reg", f"{objective}-exact")
        pairs = [pair(methods, benchmark, seed, arguments, test) for seed in arguments.seeds]
        report(methods, pairs, arguments.test)


if __name__ == "__main__":
    main()
