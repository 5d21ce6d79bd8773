"""A benchmark's own bandit log of a real dataset, made as the stages make it: one seed drives everything."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multilogger.components.datasets.embedded import load_digits_split
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.datasets.registry import find_dataset
from multilogger.components.datasets.svmlight import read_svmlight
from multilogger.components.log.memory import TrainingLog
from multilogger.components.loggers.crf import fit_crf
from multilogger.components.loggers.linear import LinearPolicy, random_share
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

ALPHAS = (0.05, 2.0)
C = {"scene": 0.1, "yeast": 0.03, "tmc500": 0.1, "digits": 0.1}
PASSES = 4


@dataclass(frozen=True)
class Benchmark:
    """The train split of a dataset, where its test split stands, and the rest that makes a log of it."""

    name: str
    train: LabelledData
    test_path: Path | None  # None: embedded, with no files

    def loggers(self, seed: int) -> list[LinearPolicy]:
        rows = random_share(self.train.rows, 0.2, np.random.default_rng(seed))
        weights = fit_crf(self.train.take(rows), C[self.name])
        return [LinearPolicy(weights, alpha) for alpha in ALPHAS]

    def log(self, seed: int, split_by: SplitBy = SplitBy.ROW) -> TrainingLog:
        logits = [policy.logits(self.train.x) for policy in self.loggers(seed)]
        plan = ReplayPlan(seed, 0.25, split_by, 8192)
        parts = [
            (j, rows)
            for j in range(len(logits))
            for r in range(PASSES)
            for rows in replay_pass(self.train.space, logits, self.train.y, j, r, plan)
        ]
        return TrainingLog(
            x=self.train.x,
            context=np.concatenate([rows.context for _, rows in parts]).astype(np.int64),
            action=np.concatenate([rows.action for _, rows in parts]),
            delta=np.concatenate([rows.delta for _, rows in parts]),
            log_propensities=np.concatenate([rows.log_propensities for _, rows in parts]),
            logger=np.concatenate([np.full(len(rows.delta), j) for j, rows in parts]),
            validation=np.concatenate([rows.validation for _, rows in parts]),
            space=self.train.space,
            logger_logits=tuple(logits),
            truth=self.train.y,
        )

    def test(self) -> LabelledData:
        """The test split; only a measurement after all choices are made may ask for it."""
        if self.test_path is None:
            return load_digits_split().test
        spec = find_dataset(self.name)
        return read_svmlight(self.test_path, spec, spec.n_test)


def open_benchmark(mirror: Path, name: str) -> Benchmark:
    """The benchmark of a dataset from a mirror of the LibSVM site, or of the embedded digits."""
    if name == "digits":
        return Benchmark(name, load_digits_split().train, None)
    spec = find_dataset(name)
    if spec.train_file is None or spec.test_file is None:
        raise SystemExit(f"{name} has no files; choose one of {', '.join(C)}")
    train = read_svmlight(mirror / spec.train_file, spec, spec.n_train)
    return Benchmark(name, train, mirror / spec.test_file)
