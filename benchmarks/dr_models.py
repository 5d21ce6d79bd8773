"""The loss models of `multilogger evaluate` on the same simulated logs: coverage, width and bias of `dr`.

    python benchmarks/dr_models.py --logs 100 --out benchmarks/results/dr_models.csv

Contexts are new in every log, with features of which the true labels, or the true one of ten actions, are
noisy functions. The policy knows these functions well, and acts softly or greedily, or badly. The loss of
labels adds up over them (hamming) or does not (crowding); that of one-of actions is zero-one. A row per
setting and model; `ratio` is the width of the interval over that of the ridge on the same log, averaged, and
`spread` the standard deviation of the estimate over logs.
"""

import argparse
import csv
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from simulated_world import Met

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.losses import CROWDING, HAMMING, ZERO_ONE, Loss
from multilogger.components.evaluation.context_sums import Contexts
from multilogger.components.evaluation.evaluation import EstimateRow, Request, evaluate_policy
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.score_log import Scored

MODELS = (DrModel.RIDGE, DrModel.SMRDR, DrModel.NETWORK)
FEATURES, CONTEXTS = 30, 500
SPACES: dict[str, ActionSpace] = {space.name: space for space in (Labels(6), OneOf(10))}
THRESHOLD = 0.5  # of the scores, above which a label is true
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

    @property
    def space(self) -> ActionSpace:
        return SPACES[self.loss.space]

    def met(self, contexts: int, rng: np.random.Generator) -> tuple[Met, Actions]:
        """New contexts, and the right action of each."""
        fixed, size, labels = np.random.default_rng(7), self.space.size, bool(self.space.action_shape)
        shift = THRESHOLD if labels else 0.0
        slopes = fixed.normal(size=(FEATURES, size)) / math.sqrt(FEATURES / 4)
        worse = slopes + fixed.normal(size=slopes.shape) / math.sqrt(FEATURES)
        sharp, error = POLICIES[self.policy]
        own = slopes + error * fixed.normal(size=slopes.shape) / math.sqrt(FEATURES)
        x = rng.normal(size=(contexts, FEATURES))
        scores = x @ slopes + NOISE * rng.normal(size=(contexts, size))
        truth = (scores > shift).astype(np.uint8) if labels else scores.argmax(axis=1)
        loggers = tuple(each * (x @ worse - shift) for each in LOGGERS)
        return Met(self.space, sharp * (x @ own - shift), loggers, x), truth

    def risk(self) -> float:
        met, truth = self.met(RISK_CONTEXTS, np.random.default_rng(1))
        return float(self.loss.expected(met.target, truth).mean())

    def draw(self, seed: int, model: DrModel) -> Scored:
        rng = np.random.default_rng(seed)
        met, truth = self.met(CONTEXTS, rng)

        def losses(context: Contexts, action: Actions) -> Vector:
            return self.loss.value(action, truth[context])

        return met.draw(PASSES, losses, self.loss.largest(self.space.size), rng, model)


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
    spread: float
    bias: float
    bias_error: float
    effective_rows: float
    seconds: float


def measure(setting: Setting, logs: int, models: Sequence[DrModel]) -> list[Line]:
    risk = setting.risk()
    found: dict[DrModel, list[EstimateRow]] = {model: [] for model in models}
    seconds = dict.fromkeys(models, 0.0)
    for seed in range(FIRST_SEED, FIRST_SEED + logs):
        for model in models:
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
        spread=round(float(values.std(ddof=1)), 4),
        bias=round(float(values.mean()) - risk, 4),
        bias_error=round(float(values.std(ddof=1)) / math.sqrt(len(rows)), 4),
        effective_rows=round(float(np.mean([row.effective_rows for row in rows])), 1),
        seconds=round(seconds, 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--models", default=",".join(MODELS), help="the ridge, and others to compare with it")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    models = [DrModel(name) for name in options.models.split(",")]
    torch.set_num_threads(1)
    policies = options.policies.split(",")
    settings = [Setting(policy, loss) for policy in policies for loss in (HAMMING, CROWDING, ZERO_ONE)]
    with options.out.open("w", newline="") if options.out else sys.stdout as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Line)], lineterminator="\n")
        writer.writeheader()
        for setting in settings:
            writer.writerows(asdict(line) for line in measure(setting, options.logs, models))
            file.flush()


if __name__ == "__main__":
    main()
