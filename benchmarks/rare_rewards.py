"""Do intervals hold where rewards are rare? Logs like the Open Bandit Dataset's, with a known truth.

    python benchmarks/rare_rewards.py --logs 200

A sampler that favours good items, and changes its mind fifty times, logs 10,000 rows with a click in 200 or
300; the uniform policy is judged by them. Printed per size of the problem: how often each 95 % interval held
the true rate, on which side it missed, and its mean width.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import multilogger as ml
from multilogger.components.evaluation.context_sums import ScoredLog, context_sums
from multilogger.components.evaluation.intervals import Interval, resample
from multilogger.components.evaluation.point_estimates import Estimators

ROWS, BATCHES, REPLICATES, LEVEL = 10_000, 50, 400, 0.95
NAMES = ("naive-sn", "dr")


@dataclass(frozen=True)
class World:
    """K items with a mean click rate; `spread` of the sampler's log odds gives the effective rows of the
    published logs, 656 of 10,000 for 34 items and 340 for 80."""

    items: int
    spread: float
    rate: float


WORLDS = (World(34, 1.65, 0.0046), World(80, 1.84, 0.0038))


class Uniform:
    """The policy that is judged."""

    def __init__(self, items: int) -> None:
        self.items = items

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.full((len(x), self.items), 1.0 / self.items)


def draw_log(world: World, rng: np.random.Generator) -> tuple[ml.BanditLog, float]:
    """A log, and the true click rate of the uniform policy."""
    quality = rng.normal(size=world.items)
    rates = np.exp(np.clip(0.4 * quality, -2, 2))
    rates *= world.rate / rates.mean()
    odds = world.spread * (0.6 * quality + 0.8 * rng.normal(size=(BATCHES, world.items)))
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    batch = rng.integers(0, BATCHES, ROWS)
    action = (rng.random((ROWS, 1)) > chances[batch].cumsum(axis=1)).sum(axis=1).clip(0, world.items - 1)
    click = rng.random(ROWS) < rates[action]
    log = ml.BanditLog.from_arrays(
        np.ones((ROWS, 1)), action, actions=range(world.items), reward=click.astype(float),
        reward_range=(0, 1), propensity=chances[batch, action],
    )  # fmt: skip
    return log, float(rates.mean())


def bootstrap_alone(log: ml.BanditLog, items: int, rng: np.random.Generator) -> Interval:
    """The bootstrap's interval of `naive-sn`, which is what was shown before events were looked at."""
    rows = len(log)
    scored = ScoredLog(
        names=("logger",), logger=log.logger, context=np.arange(rows), delta=log.loss,
        log_propensity=log.log_propensity, log_target=np.full(rows, -np.log(items)), max_loss=1.0,
        log_average=None, is_greedy=np.zeros(rows, dtype=np.bool_), log_greedy=np.zeros(rows),
    )  # fmt: skip
    strata = context_sums(scored, np.sqrt(rows), None)
    return resample(strata, Estimators(scored.counts, False, False), REPLICATES, LEVEL, rng)["naive-sn"].bca


def intervals(world: World, seed: int) -> Iterator[tuple[str, Interval, float]]:
    """Every interval of one log with the true risk."""
    rng = np.random.default_rng([seed, world.items])
    log, rate = draw_log(world, rng)
    yield "naive-sn, bootstrap alone", bootstrap_alone(log, world.items, rng), 1.0 - rate
    shown = ml.evaluate(Uniform(world.items), log, bootstrap=REPLICATES, seed=seed).estimates
    for name in NAMES:
        yield f"{name}, as shown", shown[name].bootstrap, 1.0 - rate


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=200)
    logs = parser.parse_args().logs
    for world in WORLDS:
        held, above, below, width = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        for seed in range(logs):
            for name, found, risk in intervals(world, seed):
                held[name] += found.low <= risk <= found.high
                above[name] += found.low > risk
                below[name] += found.high < risk
                width[name] += found.high - found.low  # type: ignore[assignment]
        sys.stdout.write(f"{world.items} items, click rate {world.rate}, {logs} logs\n")
        for name in held:
            missed = f"true rate above {above[name] / logs:.3f}, below {below[name] / logs:.3f}"
            line = f"  {name:26s} held {held[name] / logs:.3f}, {missed}, width {width[name] / logs:.4f}\n"
            sys.stdout.write(line)


if __name__ == "__main__":
    main()
