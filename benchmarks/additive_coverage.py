"""Intervals from weights that add up over labels beside those from products: how often do they hold the risk?

    python benchmarks/additive_coverage.py --logs 400 --out benchmarks/results/additive_coverage.csv

Ten labels, Hamming loss. Every log has new contexts with features, of which the true labels are noisy
functions. Two loggers, nearly uniform (alpha 0.05) and sharp, act four times in each context. The policy is
the sharp logger, or half way from its marginals to its likeliest labels, or these alone. `--sharp` has the
alphas of sharp loggers: 2 is the paper's. A row per sharp logger, policy and estimator: coverage at nominal
95 %, its Monte Carlo error, mean width, and how far the estimate is off on average. `below` and `above` are
the shares of logs whose whole interval lies below or above the risk.
"""

import argparse
import csv
import math
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from simulated_world import Met

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import Labels, marginals
from multilogger.components.datasets.losses import HAMMING
from multilogger.components.evaluation.additive_scores import open_additive
from multilogger.components.evaluation.context_sums import Contexts, ScoredLog
from multilogger.components.evaluation.evaluation import EstimateRow, Request, evaluate_policy
from multilogger.components.evaluation.loss_models.registry import DrModel

FEATURES, SPACE = 20, Labels(10)
PASSES = (4, 4)
UNIFORM = 0.05  # alpha of the first logger
NOISE = 0.5  # of the scores that make the labels
SURE = 1e3  # a logit
POLICIES = {"logger": 0.0, "half way": 0.5, "greedy": 1.0}  # how far from the sharp logger to its greedy self
RISK_CONTEXTS = 400_000


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    sharp: float
    policy: str
    estimator: str
    logs: int
    coverage: float
    monte_carlo_error: float
    below: float
    above: float
    mean_width: float
    spread: float
    bias: float
    risk: float
    effective_rows: float


@dataclass(frozen=True)
class Setting:
    """A policy by its name, and the alpha of the sharp logger."""

    policy: str
    sharp: float


def met(setting: Setting, contexts: int, rng: np.random.Generator) -> tuple[Met, Actions]:
    """New contexts, and their true labels."""
    fixed = np.random.default_rng(7)
    slopes = fixed.normal(size=(FEATURES, SPACE.size)) / math.sqrt(FEATURES / 2)
    worse = slopes + fixed.normal(size=slopes.shape) / math.sqrt(FEATURES)
    x = rng.normal(size=(contexts, FEATURES))
    truth = (x @ slopes + NOISE * rng.normal(size=(contexts, SPACE.size)) > 1.0).astype(np.uint8)
    logits = x @ worse - 1.0
    loggers = UNIFORM * logits, setting.sharp * logits
    return Met(SPACE, towards_greedy(loggers[-1], POLICIES[setting.policy]), loggers, x), truth


def towards_greedy(logits: Matrix, way: float) -> Matrix:
    """The logits of marginals that lie part of the way to the likeliest labels."""
    greedy = np.where(logits > 0, SURE, -SURE)
    if way in (0.0, 1.0):
        return greedy if way else logits
    p = (1.0 - way) * marginals(logits) + way * (logits > 0)
    return np.asarray(np.log(p) - np.log1p(-p))


def weighed(log: ScoredLog, known: Met, rng: np.random.Generator, action: Actions) -> ScoredLog:
    """The same log with weights that add up."""
    additive = open_additive(SPACE, known.target, known.loggers, log.counts, rng)
    assert additive is not None
    return replace(log, additive=additive.weigh(log.context, log.logger, action))


def estimates(setting: Setting, contexts: int, seed: int) -> tuple[EstimateRow, ...]:
    """Every estimate of one log."""
    rng = np.random.default_rng([seed, len(setting.policy)])
    known, truth = met(setting, contexts, rng)
    acted: list[Actions] = []

    def losses(context: Contexts, action: Actions) -> Vector:
        acted.append(action)
        return HAMMING.value(action, truth[context])

    scored = known.draw(PASSES, losses, HAMMING.largest(SPACE.size), rng, DrModel.RIDGE)
    log = weighed(scored.log, known, rng, acted[0])
    return evaluate_policy(log, scored.model, Request(), rng).estimates


def measure(setting: Setting, contexts: int, logs: int) -> list[Line]:
    known, truth = met(setting, RISK_CONTEXTS, np.random.default_rng(1))
    risk = float(HAMMING.expected(known.target, truth).mean())
    found: dict[str, list[EstimateRow]] = {}
    for seed in range(logs):
        for row in estimates(setting, contexts, seed):
            found.setdefault(row.name, []).append(row)
        sys.stderr.write(f"\r{setting.policy}, {setting.sharp:g}: {seed + 1} of {logs} logs")
    sys.stderr.write("\n")
    return [line(setting, rows, risk) for rows in found.values()]


def line(setting: Setting, rows: list[EstimateRow], risk: float) -> Line:
    low = np.array([row.bootstrap.low for row in rows])
    high = np.array([row.bootstrap.high for row in rows])
    values = np.array([row.value for row in rows])
    below, above = float(np.mean(high < risk)), float(np.mean(low > risk))
    held = 1.0 - below - above
    return Line(
        sharp=setting.sharp,
        policy=setting.policy,
        estimator=rows[0].name,
        logs=len(rows),
        coverage=round(held, 4),
        monte_carlo_error=round(math.sqrt(max(0.0, held * (1.0 - held)) / len(rows)), 4),
        below=round(below, 4),
        above=round(above, 4),
        mean_width=round(float((high - low).mean()), 4),
        spread=round(float(values.std(ddof=1)), 4),
        bias=round(float(values.mean()) - risk, 4),
        risk=round(risk, 4),
        effective_rows=round(float(np.mean([row.effective_rows for row in rows])), 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--contexts", type=int, default=400)
    parser.add_argument("--sharp", default="2,6")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with given.out.open("w", newline="") if given.out else sys.stdout as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Line)], lineterminator="\n")
        writer.writeheader()
        for sharp in given.sharp.split(","):
            for policy in POLICIES:
                found = measure(Setting(policy, float(sharp)), given.contexts, given.logs)
                writer.writerows(asdict(one) for one in found)
                file.flush()


if __name__ == "__main__":
    main()
