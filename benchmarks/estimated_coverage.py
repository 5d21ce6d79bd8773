"""Whether intervals hold the truth where propensities are estimated: many small simulated logs.

    python benchmarks/estimated_coverage.py --logs 80 --rows 2000

Two loggers and a policy to be judged choose one of five actions by the context. `kind` says what the loggers
are: linear in the features that the estimate sees, as its model expects; bent, of squares and products; or
hidden, where they look at a feature that the log lacks. Prints, of every estimator, how often its 95 %
bootstrap interval holds the true risk, its mean width, and the mean error, with logged propensities and with
estimated ones.
"""

import argparse
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

import multilogger as ml
from multilogger.components.actions.arrays import Matrix

ACTIONS, FEATURES = 5, 4
ESTIMATORS = ("naive", "naive-sn", "weighted-sn", "balanced-sn", "dr")
KINDS = ("linear", "bent", "hidden")


def softmax(scores: Matrix) -> Matrix:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


class World:
    """What the loggers do, what a policy does, and what actions cost."""

    def __init__(self, kind: str) -> None:
        rng = np.random.default_rng(7)
        self.kind, (self.taste, self.first, self.second) = kind, rng.normal(size=(3, FEATURES, ACTIONS))

    def draw(self, rows: int, rng: np.random.Generator) -> Matrix:
        return rng.normal(size=(rows, FEATURES))

    def logger(self, x: Matrix, number: int) -> Matrix:
        seen = x if self.kind != "bent" else np.column_stack([x[:, :2] ** 2 - 1, x[:, 2] * x[:, 3], x[:, 0]])
        return softmax(0.6 * seen @ (self.first if number == 0 else self.second))

    def policy(self, x: Matrix) -> Matrix:
        """It looks at what the log has in any case."""
        return softmax(0.7 * x[:, : FEATURES - 1] @ self.taste[: FEATURES - 1])

    def cost(self, x: Matrix) -> Matrix:
        return np.asarray(1.0 / (1.0 + np.exp(x @ self.taste * 0.8 - 0.5)))

    def risk(self) -> float:
        x = self.draw(400_000, np.random.default_rng(11))
        return float((self.policy(x) * self.cost(x)).sum(axis=1).mean())


class Judged:
    """The policy as a log's features show it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def predict_proba(self, x: Matrix) -> Matrix:
        return self.world.policy(np.asarray(x, dtype=np.float64))


def log_of(world: World, rows: int, seed: int) -> ml.BanditLog:
    rng, each = np.random.default_rng([3, seed]), np.arange(rows)
    x, logger = world.draw(rows, rng), rng.integers(0, 2, rows)
    whole = np.stack([world.logger(x, number) for number in (0, 1)])
    chances = whole[logger, each]
    action = (chances.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1).clip(0, ACTIONS - 1)
    shown = x[:, : FEATURES - 1] if world.kind == "hidden" else x
    frame = pd.DataFrame(shown, columns=[f"x{i}" for i in range(shown.shape[1])]).assign(
        action=action,
        loss=(rng.random(rows) < world.cost(x)[each, action]).astype(float),
        propensity=chances[each, action],
        p0=whole[0, each, action],
        p1=whole[1, each, action],
        logger=np.array(["a", "b"])[logger],
    )
    return ml.BanditLog.from_pandas(frame, actions=range(ACTIONS), propensities=["p0", "p1"])


def bare(log: ml.BanditLog) -> ml.BanditLog:
    """The log as if nobody had logged a propensity."""
    return replace(log, log_propensity=np.full(len(log), np.nan), log_propensities=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--logs", type=int, default=80)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kind", choices=KINDS, default="linear")
    given = parser.parse_args()
    world = World(given.kind)
    truth, found, started = world.risk(), [], time.perf_counter()
    for seed in range(given.logs):
        log = log_of(world, given.rows, seed)
        for how, judged in (("logged", log), ("estimated", bare(log).estimate_propensities(seed=seed))):
            table = ml.evaluate(Judged(world), judged, bootstrap=200, seed=seed).to_pandas()
            for name in ESTIMATORS:
                value, low, high = table.loc[name, ["value", "low", "high"]]
                found.append([how, name, low <= truth <= high, high - low, value - truth])
        if seed % 10 == 9 or seed == given.logs - 1:
            shown = pd.DataFrame(found, columns=["propensities", "estimator", "held", "width", "error"])
            summary = shown.groupby(["estimator", "propensities"]).agg(
                held=("held", "mean"),
                width=("width", "mean"),
                bias=("error", "mean"),
                spread=("error", "std"),
            )
            sys.stdout.write(
                f"{given.kind}, {seed + 1} logs of {given.rows} rows, truth {truth:.4f}, "
                f"{time.perf_counter() - started:.0f} s\n{summary.round(4).to_string()}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
