"""EXP on test of every method under a preset: means over seeds with 95 % intervals.

    python benchmarks/measure_learners.py <mirror> yeast --preset tuned --seeds 0 1 2 3 4

To be run after all choices are made: this is the only benchmark that reads a test split.
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from bandit_data import Benchmark, open_benchmark
from scipy.stats import t as student

from multilogger.components.actions.label_losses import expected_hamming, hamming
from multilogger.components.actions.labels import greedy
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.loggers.replay import SplitBy


@dataclass(frozen=True)
class Score:
    """One policy on test: the expected loss of its draws, and the loss of its most likely labels."""

    exp: float
    greedy: float
    validation: float
    epoch: int
    seconds: float


def measure(
    method: str, benchmark: Benchmark, test: LabelledData, name: str, seed: int, split_by: SplitBy
) -> Score:
    """Learn with one seed and look at test once."""
    log = benchmark.log(seed, split_by)
    started = time.perf_counter()
    learned = learn(method, log, preset(name, benchmark.name, method), seed)
    seconds = time.perf_counter() - started
    logits = learned.policy.logits(test.x)
    return Score(
        exp=float(expected_hamming(logits, test.y).mean()),
        greedy=float(hamming(greedy(logits), test.y).mean()),
        validation=learned.best.validation_risk,
        epoch=learned.best.epoch,
        seconds=seconds,
    )


def interval(values: list[float]) -> str:
    """Mean and half of the 95 % interval of the mean, by Student's t."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    half = student.ppf(0.975, len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean:.3f} ± {half:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("--preset", choices=PRESETS, default="tuned")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--split-by", type=SplitBy, default=SplitBy.ROW)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    benchmark = open_benchmark(arguments.mirror, arguments.dataset)
    test = benchmark.test()
    for j in range(2):
        rows = [
            float(expected_hamming(benchmark.loggers(seed)[j].logits(test.x), test.y).mean())
            for seed in arguments.seeds
        ]
        print(f"{'logger ' + str(j + 1):17} EXP {interval(rows)}", flush=True)  # noqa: T201
    for method in arguments.methods:
        scores = [
            measure(method, benchmark, test, arguments.preset, seed, arguments.split_by)
            for seed in arguments.seeds
        ]
        print(  # noqa: T201
            f"{method:17} EXP {interval([s.exp for s in scores])}"
            f"  greedy {interval([s.greedy for s in scores])}"
            f"  validation {interval([s.validation for s in scores])}"
            f"  epoch {statistics.fmean(s.epoch for s in scores):.0f}"
            f"  {statistics.fmean(s.seconds for s in scores):.1f} s a seed"
            f"  EXP by seed {' '.join(f'{s.exp:.3f}' for s in scores)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
