"""The two loss models of `multilogger evaluate` on the same simulated logs: coverage, width and bias of `dr`.

    python benchmarks/dr_models.py --logs 100 --out benchmarks/results/dr_models.csv

Contexts are new in every log, with features of which the true labels are noisy functions. The policy knows
these functions well, and acts softly or greedily, or badly. The loss adds up over labels (hamming) or does
not (crowding). A row per setting and model; `ratio` is the width of the interval over that of the ridge on
the same log, averaged.
"""

import argparse
import csv
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from simulated_world import Met

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.actions.labels import Labels
from multilogger.components.datasets.losses import CROWDING, HAMMING, Loss
from multilogger.components.evaluation.context_sums import Contexts
from multilogger.components.evaluation.evaluation import EstimateRow, Request, evaluate_policy
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.score_log import Scored

MODELS = (DrModel.RIDGE, DrModel.ADDITIVE)
FEATURES, LABELS, CONTEXTS = 30, 6, 500
PASSES = (2, 2)
LOGGERS = (0.3, 1.5)  # how sharp each is
POLICIES = {
    "soft": (2.0, 0.3),
    "greedy": (1e3, 0.3),
    "soft and bad": (1.0, 2.0),
}  # sharpness, error of slopes
NOISE = 0.5  # of the scores that make the labels
RISK_CONTEXTS = 400_000
FIRST_SEED = 100


@dataclass(frozen=True)
class Setting:
    """A policy by its name, and a loss; the loggers have slopes that are worse than the world's."""

    policy: str
    loss: Loss

    def met(self, contexts: int, rng: np.random.Generator) -> tuple[Met, Actions]:
        """New contexts, and their true labels."""
        fixed = np.random.default_rng(7)
        slopes = fixed.normal(size=(FEATURES, LABELS)) / math.sqrt(FEATURES / 4)
        worse = slopes + fixed.normal(size=slopes.shape) / math.sqrt(FEATURES)
        sharp, error = POLICIES[self.policy]
        own = slopes + error * fixed.normal(size=slopes.shape) / math.sqrt(FEATURES)
        x = rng.normal(size=(contexts, FEATURES))
        truth = (x @ slopes + NOISE * rng.normal(size=(contexts, LABELS)) > 0.5).astype(np.uint8)
        loggers = tuple(each * (x @ worse - 0.5) for each in LOGGERS)
        return Met(Labels(LABELS), sharp * (x @ own - 0.5), loggers, x), truth

    def risk(self) -> float:
        met, truth = self.met(RISK_CONTEXTS, np.random.default_rng(1))
        return float(self.loss.expected(met.target, truth).mean())

    def draw(self, seed: int, model: DrModel) -> Scored:
        rng = np.random.default_rng(seed)
        met, truth = self.met(CONTEXTS, rng)

        def losses(context: Contexts, action: Actions) -> Vector:
            return self.loss.value(action, truth[context])

        return met.draw(PASSES, losses, self.loss.largest(LABELS), rng, model)


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    policy: str
    loss: str
    model: str
    logs: int
    coverage: float
    monte_carlo_error: float
    mean_width: float
    ratio: float
    bias: float
    bias_error: float
    effective_rows: float
    seconds: float


def measure(setting: Setting, logs: int) -> list[Line]:
    risk = setting.risk()
    found: dict[DrModel, list[EstimateRow]] = {model: [] for model in MODELS}
    seconds = dict.fromkeys(MODELS, 0.0)
    for seed in range(FIRST_SEED, FIRST_SEED + logs):
        for model in MODELS:
            start = time.process_time()
            scored = setting.draw(seed, model)
            result = evaluate_policy(scored.log, scored.model, Request(), np.random.default_rng(seed))
            seconds[model] += time.process_time() - start
            found[model].append(next(row for row in result.estimates if row.name == "dr"))
        sys.stderr.write(f"\r{setting.policy}, {setting.loss.name}: {seed - FIRST_SEED + 1} of {logs} logs")
    sys.stderr.write("\n")
    ridge = np.array([_width(row) for row in found[DrModel.RIDGE]])
    return [_line(setting, model, rows, risk, ridge, seconds[model] / logs) for model, rows in found.items()]


def _width(row: EstimateRow) -> float:
    return row.bootstrap.high - row.bootstrap.low


def _line(
    setting: Setting, model: DrModel, rows: list[EstimateRow], risk: float, ridge: Vector, seconds: float
) -> Line:
    held = float(np.mean([row.bootstrap.low <= risk <= row.bootstrap.high for row in rows]))
    widths = np.array([_width(row) for row in rows])
    values = np.array([row.value for row in rows])
    return Line(
        policy=setting.policy,
        loss=setting.loss.name,
        model=model.value,
        logs=len(rows),
        coverage=round(held, 4),
        monte_carlo_error=round(math.sqrt(held * (1.0 - held) / len(rows)), 4),
        mean_width=round(float(widths.mean()), 4),
        ratio=round(float((widths / ridge).mean()), 4),
        bias=round(float(values.mean()) - risk, 4),
        bias_error=round(float(values.std(ddof=1)) / math.sqrt(len(rows)), 4),
        effective_rows=round(float(np.mean([row.effective_rows for row in rows])), 1),
        seconds=round(seconds, 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = [Setting(policy, loss) for policy in POLICIES for loss in (HAMMING, CROWDING)]
    lines = [asdict(line) for setting in settings for line in measure(setting, options.logs)]
    with options.out.open("w", newline="") if options.out else sys.stdout as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
