"""The search that chose the `tuned` presets of `additive`: squared error on contexts that no member has seen.

    python benchmarks/search_additive.py <mirror> yeast
    python benchmarks/search_additive.py <mirror> tmc500 --seeds 100 --only hidden weight_decay --mlflow

The log is split by context, its seeds are not those of the reported measurements, and the score is made of
logged losses alone: no label and no test data is read. Under a nearly uniform logger the squared error of the
additive model is the Brier score of its probabilities, which is why it chooses well.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from bandit_data import open_benchmark

from multilogger.components.learners.additive import squared_error
from multilogger.components.learners.methods import learn
from multilogger.components.learners.presets import preset
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.replay import SplitBy

VALUES: dict[str, tuple[object, ...]] = {
    "weight_decay": (0.1, 0.3, 1.0, 3.0, 6.0),
    "input_dropout": (0.0, 0.2, 0.4),
    "hidden": ((64,), (128,), (256,)),
    "risk_rate": (5e-4, 1e-3, 2e-3),
    "context_batch": (64, 128, 256),
    "folds": (5, 8),
}


@dataclass(frozen=True)
class Candidate:
    """Settings with the squared error of the averaged members on validation rows, by seed."""

    settings: LearnerSettings
    changed: dict[str, object]
    errors: tuple[float, ...]
    best_epoch: float
    seconds: float

    @property
    def score(self) -> float:
        return statistics.fmean(self.errors)


OnCandidate = Callable[[Candidate], None]


def judge(logs: dict[int, TrainingLog], settings: LearnerSettings, changed: dict[str, object]) -> Candidate:
    """Learn with every seed, and look at the members' mean."""
    started = time.perf_counter()
    errors, epochs = [], []
    for seed, log in logs.items():
        learned = learn("additive", log, settings, seed)
        errors.append(squared_error(learned.policy.mean_probabilities(log.x), log.part(validation=True)))
        epochs.append(learned.best.epoch)
    seconds = (time.perf_counter() - started) / len(logs)
    return Candidate(settings, changed, tuple(errors), statistics.fmean(epochs), seconds)


def search(logs: dict[int, TrainingLog], start: LearnerSettings, names: list[str], tell: OnCandidate) -> None:
    """Go through the settings in order; each takes the value of the least squared error."""
    best = judge(logs, start, {})
    tell(best)
    for name in names:
        for value in VALUES[name]:
            if value == getattr(best.settings, name):
                continue
            candidate = judge(logs, replace(best.settings, **{name: value}), {name: value})  # type: ignore[arg-type]
            tell(candidate)
            best = min(best, candidate, key=lambda one: one.score)
    print("best:", best.score, json.dumps(asdict(best.settings)))  # noqa: T201


def show(candidate: Candidate) -> None:
    errors = " ".join(f"{error:.4f}" for error in candidate.errors)
    print(  # noqa: T201
        f"{candidate.score:.4f}  [{errors}]  epoch {candidate.best_epoch:.0f}  {candidate.seconds:.1f} s"
        f"  {candidate.changed or 'start'}",
        flush=True,
    )


def to_mlflow(dataset: str) -> OnCandidate:
    """Log every candidate as a run of `multilogger-search/<dataset>` at MLFLOW_TRACKING_URI."""
    import mlflow

    mlflow.set_experiment(f"multilogger-search/{dataset}")

    def tell(candidate: Candidate) -> None:
        changes = ", ".join(f"{name}={value}" for name, value in candidate.changed.items()) or "start"
        with mlflow.start_run(run_name=f"{dataset} · additive · {changes}"):
            mlflow.log_params({"method": "additive", **asdict(candidate.settings)})
            mlflow.log_metrics(
                {
                    "squared_error": candidate.score,
                    "best_epoch": candidate.best_epoch,
                    "wall_seconds": candidate.seconds,
                }
            )
        show(candidate)

    return tell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102, 103])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="changes of the start")
    parser.add_argument("--only", nargs="*", choices=VALUES, default=list(VALUES))
    parser.add_argument("--mlflow", action="store_true", help="log every candidate at MLFLOW_TRACKING_URI")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    start = preset("tuned", arguments.dataset, "additive")
    for change in arguments.set:
        name, value = change.split("=", 1)
        start = replace(start, **{name: type(getattr(start, name))(json.loads(value))})
    benchmark = open_benchmark(arguments.mirror, arguments.dataset)
    logs = {seed: benchmark.log(seed, SplitBy.CONTEXT) for seed in arguments.seeds}
    tell = to_mlflow(arguments.dataset) if arguments.mlflow else show
    search(logs, start, arguments.only, tell)


if __name__ == "__main__":
    main()
