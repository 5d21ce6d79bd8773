"""How often the intervals of `multilogger evaluate` hold the true risk, on simulated logs of known risk.

    python benchmarks/interval_coverage.py --logs 500 --out benchmarks/results/interval_coverage.csv

A row per setting, estimator and interval: coverage at nominal 95 %, its Monte Carlo error, mean width, bias
of the estimate. `rows` resamples rows as if they were independent, to show what resampling contexts is for.
`--smoothed` measures the pessimistic estimates and their intervals alone; they need no resamples, so 20 do.
`--trusted` measures instead the one estimate that the rule of `support.py` trusts.
"""

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

import numpy as np
from simulated_world import World, make_world

from multilogger.components.evaluation.context_sums import context_sums
from multilogger.components.evaluation.evaluation import PolicyEvaluation, Request, evaluate_policy
from multilogger.components.evaluation.intervals import Interval, resample
from multilogger.components.evaluation.point_estimates import Estimators
from multilogger.components.evaluation.score_log import Scored

LEVEL = 0.95
CONTEXTS = 400
SETTINGS = {"good": (2, 2), "good, replayed 8 times": (8, 8), "poor": (2, 2), "very poor": (2, 2)}


@dataclass(frozen=True)
class Coverage:
    """One line of the table."""

    overlap: str
    estimator: str
    interval: str
    coverage: float
    monte_carlo_error: float
    mean_width: float
    bias: float


def measure(
    overlap: str,
    passes: tuple[int, ...],
    logs: int,
    replicates: int,
    ask: "Callable[..., Iterator[tuple[str, str, float, Interval]]] | None" = None,
) -> list[Coverage]:
    """The coverage of every estimator's intervals over `logs` logs of one setting."""
    world = make_world(overlap.split(",")[0])
    risk = world.risk
    found: dict[tuple[str, str], list[Interval]] = {}
    values: dict[str, list[float]] = {}
    for seed in range(logs):
        rng = np.random.default_rng([seed, len(overlap)])
        for name, kind, value, interval in (ask or intervals)(world, passes, replicates, rng):
            found.setdefault((name, kind), []).append(interval)
            if not math.isnan(value):
                values.setdefault(name, []).append(value)
        sys.stderr.write(f"\r{overlap}: {seed + 1} of {logs} logs")
    sys.stderr.write("\n")
    lines = []
    for (name, kind), ends in found.items():
        held = float(np.mean([end.low <= risk <= end.high for end in ends]))
        lines.append(
            Coverage(
                overlap,
                name,
                kind,
                round(held, 4),
                round(math.sqrt(held * (1.0 - held) / logs), 4),
                round(float(np.mean([end.high - end.low for end in ends])), 4),
                round(float(np.mean(values[name])) - risk, 4),
            )
        )
    return lines


def intervals(
    world: World, passes: tuple[int, ...], replicates: int, rng: np.random.Generator
) -> Iterator[tuple[str, str, float, Interval]]:
    """Every interval of one log: (estimator, interval, estimate, ends)."""
    scored = world.draw(CONTEXTS, passes, rng)
    log = scored.log
    largest = world.max_weights(log.counts)
    result = evaluate_policy(log, scored.model, Request(LEVEL, replicates), rng, largest)
    for row in result.estimates:
        yield row.name, "bca", row.value, row.bootstrap
        if row.bernstein is not None:
            yield row.name, "bernstein", row.value, row.bernstein
    yield from smoothed(result)
    estimators = Estimators(log.counts, balanced=True, dr=True)
    for name, one in resample(
        context_sums(log, result.clip, scored.model), estimators, replicates, LEVEL, rng
    ).items():
        yield name, "percentile", math.nan, one.percentile
    loose = Scored(replace(log, context=np.arange(log.rows)), scored.model, contexts_known=False)
    for name, one in resample(
        context_sums(loose.log, result.clip, loose.model), estimators, replicates, LEVEL, rng
    ).items():
        yield name, "rows", math.nan, one.bca


def smoothed(result: PolicyEvaluation) -> Iterator[tuple[str, str, float, Interval]]:
    """The pessimistic estimates, and the Bernstein intervals that stand beside them."""
    for one in result.smoothed:
        yield one.name, "smoothed", one.value, Interval(one.low, one.high)
    for row in result.estimates:
        if row.name in ("naive-clipped", "balanced-clipped") and row.bernstein is not None:
            yield row.name, "bernstein, clip only", row.value, row.bernstein


def smoothed_alone(
    world: World, passes: tuple[int, ...], replicates: int, rng: np.random.Generator
) -> Iterator[tuple[str, str, float, Interval]]:
    """The same without a loss model and without a largest weight."""
    log = world.draw(CONTEXTS, passes, rng).log
    yield from smoothed(evaluate_policy(log, None, Request(LEVEL, replicates), rng))


@dataclass(frozen=True)
class Trusted:
    """How often the rule of `support.py` trusts an estimator, and how often its interval then holds."""

    overlap: str
    estimator: str
    share_of_logs: float
    coverage: float | None
    monte_carlo_error: float | None


def measure_trust(overlap: str, passes: tuple[int, ...], logs: int, replicates: int) -> list[Trusted]:
    """The rule on the same logs: one line for each estimator that it ever trusted, and one for none."""
    world = make_world(overlap.split(",")[0])
    held: dict[str, list[bool]] = {}
    for seed in range(logs):
        rng = np.random.default_rng([seed, len(overlap)])
        scored = world.draw(CONTEXTS, passes, rng)
        result = evaluate_policy(scored.log, scored.model, Request(LEVEL, replicates), rng)
        name = result.recommendation.estimator
        ends = next((row.bootstrap for row in result.estimates if row.name == name), None)
        held.setdefault(name or "none", []).append(ends is not None and ends.low <= world.risk <= ends.high)
        sys.stderr.write(f"\r{overlap}: {seed + 1} of {logs} logs")
    sys.stderr.write("\n")
    lines = []
    for name, found in sorted(held.items()):
        share = float(np.mean(found))
        error = math.sqrt(share * (1.0 - share) / len(found))
        known = name != "none"
        lines.append(
            Trusted(
                overlap,
                name,
                round(len(found) / logs, 4),
                round(share, 4) if known else None,
                round(error, 4) if known else None,
            )
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--trusted", action="store_true", help="only the estimate that the rule trusts")
    parser.add_argument("--smoothed", action="store_true", help="only the pessimistic estimates")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    ask = measure_trust if options.trusted else measure
    if options.smoothed:
        ask = partial(measure, ask=smoothed_alone)
    lines = [
        asdict(line)
        for overlap, passes in SETTINGS.items()
        for line in ask(overlap, passes, options.logs, options.replicates)
    ]
    write_csv(sys.stdout, lines)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", newline="") as file:
            write_csv(file, lines)


def write_csv(file: TextIO, lines: list[dict[str, object]]) -> None:
    writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)


if __name__ == "__main__":
    main()
