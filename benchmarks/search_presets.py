"""The search that chose the `tuned` presets: one setting after the other, on validation scores alone.

    python benchmarks/search_presets.py <mirror> yeast weighted
    python benchmarks/search_presets.py <mirror> yeast weighted-reg --from weighted

The log is split by context: rows of one context on both sides of a split by row would hide a policy that has
learned its contexts by heart. Seeds are not those of the reported measurements. No test data is read.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from bandit_data import Benchmark, open_benchmark

from multilogger.components.learners.methods import METHODS, learn
from multilogger.components.learners.presets import preset
from multilogger.components.learners.settings import DivergenceKind, LearnerSettings, LossShift, Weights
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.replay import SplitBy

Values = dict[str, tuple[object, ...]]

DIRECT: Values = {
    "loss_shift": (LossShift.BASELINE, LossShift.RUNNING, LossShift.POEM, LossShift.NONE),
    "clip": (10.0, 30.0, 100.0),
    "weights": (Weights.CLIP, Weights.SELF_NORMALISED),
    "weight_decay": (0.0, 0.1, 0.3),
    "hidden": ((64,), (), (16,), (128,)),
    "risk_rate": (1e-3, 3e-3),
    "lambda_floor": (0.0, 0.05),
}
CONSTRAINED: Values = {
    "kappa": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0),
    "tau": (0.5, 1.0, 2.0, 4.0),
    "regulariser_rate": (1e-3, 3e-4, 3e-3),
    "inner_iterations": (1, 5),
}
EXACT: Values = {"divergence": (DivergenceKind.VARIATIONAL, DivergenceKind.EXACT)}
CLOSED_FORM: Values = {
    "kappa": (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 1e9),
    "warm_up_epochs": (5, 10),
    "multiplier_rate": (1.0, 0.3),
    "risk_rate": (3e-3, 6e-3),
    "weight_decay": (0.0, 0.1),
    "batch_size": (500, 1000),
    "patience": (30, 15),
}


@dataclass(frozen=True)
class Candidate:
    """Settings with their mean validation score and risk over seeds, and the mean epoch that was best."""

    settings: LearnerSettings
    changed: dict[str, object]
    score: float
    risk: float
    scores: tuple[float, ...]
    best_epoch: float
    eligible: bool
    seconds: float


OnCandidate = Callable[[Candidate], None]


def judge(
    method: str, logs: dict[int, TrainingLog], settings: LearnerSettings, changed: dict[str, object]
) -> Candidate:
    """Learn with every seed; the candidate's score is the mean of the best epochs' validation scores."""
    started = time.perf_counter()
    best = [learn(method, log, settings, seed).best for seed, log in logs.items()]
    scores = tuple(record.validation_score for record in best)
    return Candidate(
        settings=settings,
        changed=changed,
        score=statistics.fmean(scores),
        risk=statistics.fmean(record.validation_risk for record in best),
        scores=scores,
        best_epoch=statistics.fmean(record.epoch for record in best),
        eligible=all(record.eligible for record in best),
        seconds=(time.perf_counter() - started) / len(logs),
    )


def coordinate_search(
    method: str, logs: dict[int, TrainingLog], start: LearnerSettings, values: Values, tell: OnCandidate
) -> Candidate:
    """Go through the settings in order; each takes the value of the lowest validation score."""
    best = judge(method, logs, start, {})
    tell(best)
    for name, tries in values.items():
        for value in tries:
            if value == getattr(best.settings, name):
                continue
            candidate = judge(method, logs, replace(best.settings, **{name: value}), {name: value})
            tell(candidate)
            if candidate.eligible and (not best.eligible or candidate.score < best.score):
                best = candidate
    return best


def show(candidate: Candidate) -> None:
    scores = " ".join(f"{score:.3f}" for score in candidate.scores)
    guard = "" if candidate.eligible else "  (refused by the guard)"
    print(  # noqa: T201
        f"{candidate.score:.4f}  [{scores}]  risk {candidate.risk:.3f}  epoch {candidate.best_epoch:.0f}"
        f"  {candidate.seconds:.1f} s  {candidate.changed or 'start'}{guard}",
        flush=True,
    )


def make_logs(benchmark: Benchmark, seeds: list[int]) -> dict[int, TrainingLog]:
    return {seed: benchmark.log(seed, SplitBy.CONTEXT) for seed in seeds}


def to_mlflow(dataset: str, method: str) -> OnCandidate:
    """Log every candidate as a run of `multilogger-search/<dataset>` at MLFLOW_TRACKING_URI."""
    import mlflow

    mlflow.set_experiment(f"multilogger-search/{dataset}")

    def tell(candidate: Candidate) -> None:
        changes = ", ".join(f"{name}={value}" for name, value in candidate.changed.items()) or "start"
        with mlflow.start_run(run_name=f"{dataset} · {method} · {changes}"):
            mlflow.log_params({"method": method, **asdict(candidate.settings)})
            mlflow.log_metrics(
                {
                    "validation_score": candidate.score,
                    "validation_risk": candidate.risk,
                    "best_epoch": candidate.best_epoch,
                    "eligible": float(candidate.eligible),
                    "wall_seconds": candidate.seconds,
                }
            )
        show(candidate)

    return tell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--from", dest="start", help="method whose tuned preset to start from")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102, 103])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="changes of the start")
    parser.add_argument("--only", nargs="*", help="settings to go through; all of the method's if not given")
    parser.add_argument("--mlflow", action="store_true", help="log every candidate at MLFLOW_TRACKING_URI")
    parser.add_argument("--kappas", type=float, nargs="+", help="values of kappa to try instead of the usual")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    start = preset("tuned", arguments.dataset, arguments.start or arguments.method)
    for change in arguments.set:
        name, value = change.split("=", 1)
        kind = type(getattr(start, name))
        start = replace(start, **{name: kind(json.loads(value))})
    values = {"reg": CONSTRAINED | EXACT, "exact": CLOSED_FORM}.get(arguments.method.split("-")[-1], DIRECT)
    everything = DIRECT | CONSTRAINED | EXACT | values
    if arguments.only is not None:
        values = {name: everything[name] for name in arguments.only}
    if arguments.kappas:
        values = values | {"kappa": tuple(arguments.kappas)}
    logs = make_logs(open_benchmark(arguments.mirror, arguments.dataset), arguments.seeds)
    tell = to_mlflow(arguments.dataset, arguments.method) if arguments.mlflow else show
    best = coordinate_search(arguments.method, logs, start, values, tell)
    print("best:")  # noqa: T201
    show(best)
    print(json.dumps(asdict(best.settings)))  # noqa: T201


if __name__ == "__main__":
    main()
