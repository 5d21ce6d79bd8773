"""Open Bandit Pipeline's `NNPolicyLearner` on the logs of the one-of-K table, as rows to set beside ours.

Run by hand; obp is no dependency. obp 0.5.7 asks for an old Python, so it goes into a folder of its own:

    pip install --no-deps --ignore-requires-python --target <folder> obp==0.5.7 tqdm
    python benchmarks/obp_learner.py <folder> --mirror <mirror> --search     # its settings, on validation
    python benchmarks/obp_learner.py <folder> --mirror <mirror> --seeds 10   # into data/reproduction

It learns for one logger, so our two have to be told as one: each row with the propensity of its own logger
(`own`), or with that of their mixture h_avg, as if one logger had drawn every row (`h_avg`). The reward is 1
for the right action. Contexts are standardised, as for our learners. What is not its default:

- `off_policy_objective`, `learning_rate_init` and `max_iter`. `--search` compares candidates by the balanced
  self-normalised risk of the greedy policy on rows of unseen contexts, of seeds that the table does not have.
  On digits (seeds 100 and 101) it gave .0215 for `ipw` and `snipw` at 1e-4 over 200 epochs, under either
  propensities; .0218 and .0224 at 1e-3 over 60; .0349 and .0253 for `dr` at 1e-4. `SETTINGS` has the first;
- `n_iter_no_change` is out of reach: its rule counts batches, not epochs, counts a falling loss as one that
  does not improve, and then leaves every epoch after a batch or a few: with its default of 10 it stops early;
- its rows come to it in slices of a shuffled table, not one by one through a `DataLoader`: the same batches,
  in a fraction of the time.

With these settings it learns from all rows of a log; ours keep a quarter to choose the epoch.
"""

import argparse
import csv
import importlib
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from record_obp_figures import prepare

import multilogger as ml
from multilogger.components.datasets.labelled_data import TrainTest
from multilogger.components.datasets.registry import find_dataset
from multilogger.components.reproduction.statistics import measured

OUT = Path(__file__).resolve().parent.parent / "data" / "reproduction" / "one_of_obp.csv"
DATASETS = ("digits-one-of", "satimage", "optdigits")
PROPENSITIES = ("own", "h_avg")
SETTINGS: dict[str, Any] = {"off_policy_objective": "ipw", "learning_rate_init": 1e-4, "max_iter": 200}
CANDIDATES = [
    {"off_policy_objective": objective, "learning_rate_init": rate, "max_iter": epochs}
    for objective in ("ipw", "snipw", "dr")
    for rate, epochs in ((1e-4, 200), (1e-3, 60))
]
SEARCH_SEEDS = (100, 101)
VALIDATION = 0.25
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Batches:
    """A `DataLoader` in a few lines: all columns shuffled, then cut into slices."""

    columns: tuple[torch.Tensor, ...]
    size: int

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        order = torch.randperm(len(self.columns[0]))
        shuffled = [column.index_select(0, order) for column in self.columns]
        for start in range(0, len(order), self.size):
            yield tuple(column[start : start + self.size] for column in shuffled)


def offline_module(folder: Path) -> types.ModuleType:
    """obp's module of learners, without what the rest of obp imports."""
    prepare(folder)
    policy = types.ModuleType("obp.policy")
    policy.__path__ = [str(folder / "obp" / "policy")]
    sys.modules["obp.policy"] = policy
    sys.modules["obp.ope"].RegressionModel = object  # type: ignore[attr-defined]
    return importlib.import_module("obp.policy.offline")


def load(name: str, mirror: Path) -> TrainTest:
    spec = find_dataset(name)
    if spec.train_file is None:
        return ml.datasets.load_dataset(name)
    train, test = (
        ml.datasets.load_svmlight(mirror / str(file), spec.features, classes=spec.labels)
        for file in (spec.train_file, spec.test_file)
    )
    return TrainTest(train, test)


def dense(x: Any) -> Table:
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)


def log_propensities(log: ml.BanditLog, which: str) -> Table:
    """Of the row's own logger, or of the mixture; every logger has as many rows."""
    every = log.log_propensities
    assert every is not None
    mixed: Table = np.logaddexp.reduce(every, axis=1) - np.log(every.shape[1])
    return log.log_propensity if which == "own" else mixed


def learn(
    offline: types.ModuleType,
    log: ml.BanditLog,
    x: Table,
    rows: Any,
    propensities: str,
    seed: int,
    **settings: Any,
) -> Any:
    """Its policy from some rows of a log; `x` are the standardised contexts."""

    class Learner(offline.NNPolicyLearner):  # type: ignore[misc, name-defined]
        def _create_train_data_for_opl(
            self, context: Any, action: Any, reward: Any, pscore: Any, position: Any, **_: Any
        ) -> Any:
            tables = (context, action, reward, pscore, position)
            kinds = (torch.float32, torch.int64, torch.float32, torch.float32, torch.float32)
            columns = tuple(torch.from_numpy(t).to(k) for t, k in zip(tables, kinds, strict=True))
            return Batches(columns, min(200, len(context))), None

    learner = Learner(
        n_actions=log.space.size,
        dim_context=x.shape[1],
        random_state=seed,
        n_iter_no_change=10**9,
        **settings,
    )
    learner.fit(
        context=x[log.context[rows]],
        action=log.action[rows],
        reward=1.0 - log.loss[rows],
        pscore=np.exp(log_propensities(log, propensities)[rows]),
    )
    return learner


def probabilities(learner: Any, x: Table) -> Table:
    learner.nn_model.eval()
    with torch.no_grad():
        found: Table = learner.nn_model(torch.from_numpy(x).float()).double().numpy()
    return found


def standardised(data: TrainTest) -> tuple[Table, Table]:
    """Contexts of both splits, to mean 0 and variance 1 on train; a constant column stays."""
    train, test = dense(data.train.x), dense(data.test.x)
    spread = train.std(axis=0)
    spread[spread == 0] = 1.0
    return (train - train.mean(axis=0)) / spread, (test - train.mean(axis=0)) / spread


def validation_risk(learner: Any, log: ml.BanditLog, x: Table) -> float:
    """The balanced self-normalised risk of its greedy policy on the validation rows."""
    assert log.validation is not None
    rows = log.validation
    h_avg = np.exp(log_propensities(log, "h_avg"))[rows]
    followed = probabilities(learner, x).argmax(axis=1)[log.context[rows]] == log.action[rows]
    weights = followed / h_avg
    return float((weights * log.loss[rows]).sum() / weights.sum())


def search(offline: types.ModuleType, mirror: Path, datasets: Sequence[str]) -> None:
    """Print the validation risk of every candidate; the test split is not touched."""
    for name in datasets:
        data = load(name, mirror)
        x, _ = standardised(data)
        logs = [
            ml.datasets.replay(data.train, seed=s, validation=VALIDATION, split_by="context")
            for s in SEARCH_SEEDS
        ]
        for settings in CANDIDATES:
            for how in PROPENSITIES:
                risks = [
                    validation_risk(learn(offline, log, x, ~log.validation, how, 0, **settings), log, x)
                    for log in logs
                    if log.validation is not None
                ]
                words = (name, how, *settings.values(), f"{np.mean(risks):.4f}")
                sys.stdout.write(" ".join(map(str, words)) + "\n")
                sys.stdout.flush()


def measure(offline: types.ModuleType, mirror: Path, datasets: Sequence[str], seeds: int, out: Path) -> None:
    """Write EXP and error on test, one row per dataset, choice of propensities and seed."""
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "propensities", "seed", "exp", "error"])
        for name in datasets:
            data = load(name, mirror)
            (x, x_test), truth = standardised(data), np.asarray(data.test.y)
            for seed in range(seeds):
                log = ml.datasets.replay(data.train, seed=seed)
                for how in PROPENSITIES:
                    learner = learn(offline, log, x, slice(None), how, seed, **SETTINGS)
                    p = probabilities(learner, x_test)
                    exp = 1.0 - float(p[np.arange(len(truth)), truth].mean())
                    error = float((p.argmax(axis=1) != truth).mean())
                    writer.writerow([name, how, seed, measured(exp), measured(error)])
                    file.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where pip put obp")
    parser.add_argument("--mirror", type=Path, required=True, help="folder with LibSVM's layout")
    parser.add_argument("--search", action="store_true", help="compare settings on validation instead")
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="repeatable; default: all")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.search:
        search(offline_module(given.folder), given.mirror, given.dataset or DATASETS)
    else:
        measure(offline_module(given.folder), given.mirror, given.dataset or DATASETS, given.seeds, given.out)
