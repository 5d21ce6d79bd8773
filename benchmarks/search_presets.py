"""The search that chose what presets leave open, on validation scores alone.

    python benchmarks/search_presets.py <mirror> yeast weighted
    python benchmarks/search_presets.py <mirror> yeast weighted-reg --kappas 0.25 1 4 --taus 0.5 1 2
    python benchmarks/search_presets.py <mirror> tmc500 wcrm --set warm_start=5 --try clip=[3,10]
    python benchmarks/search_presets.py <mirror> yeast additive --only weight_decay input_dropout --mlflow
    python benchmarks/search_presets.py <mirror> yeast naive-reg --preset printed-objective --draw 20 \
        --try kappa=[0.05,0.1,0.3] tau=[1,2,4] regulariser_rate=[1e-3,4e-3]

A method goes through its settings one after the other; `additive` by squared error on contexts that no member
has seen. A constrained method is searched against a constraint that never binds, which is its direct twin bit
for bit: the grid is learned with a few seeds, the best of it with all, and taken only if the 95 % interval of
its gain over the twin excludes 0.

The log is split by context: rows of one context on both sides of a split by row would hide a policy that has
learned its contexts by heart. Seeds are not those of the reported measurements. No test data is read.
"""

import argparse
import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from bandit_data import open_benchmark
from candidates import (
    ADDITIVE_METHODS,
    Candidate,
    OnCandidate,
    clearly_better,
    difference,
    judge,
    row_of,
    settings_as_json,
    show,
    surely_better,
    to_mlflow,
    write_rows,
)

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS, reads, unread
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.presets.tuned import NEVER_BINDS
from multilogger.components.learners.training.settings import (
    LossShift,
    Settings,
    Weights,
    read_of,
)
from multilogger.components.log.memory import TrainingLog
from multilogger.components.loggers.replay import SplitBy

Changes = dict[str, object]
Values = dict[str, tuple[object, ...]]
Logs = dict[int, TrainingLog]

RESULTS = Path(__file__).parent / "results" / "search_presets.csv"
SEEDS = list(range(100, 108))

DIRECT: Values = {
    "loss_shift": (LossShift.BASELINE, LossShift.RUNNING, LossShift.POEM, LossShift.NONE),
    "clip": (10.0, 30.0, 100.0, 1000.0),
    "weights": (Weights.CLIP, Weights.SELF_NORMALISED),
    "weight_decay": (0.0, 0.1, 0.3, 1.0, 3.0),
    "hidden": ((64,), (), (16,), (128,)),
    "risk_rate": (1e-3, 3e-3),
    "batch_size": (500, 1000, 2000, 4096),
    "lambda_floor": (0.0, 0.05),
}
CLOSED_FORM: Values = {
    "kappa": (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 1e9),
    "warm_up_epochs": (5, 10),
    "multiplier_rate": (1.0, 0.3),
    "risk_rate": (3e-3, 6e-3),
    "weight_decay": (0.0, 0.1),
    "batch_size": (500, 1000),
    "patience": (30, 15),
}
ADDITIVE: Values = {
    "weight_decay": (0.1, 0.3, 1.0, 3.0, 6.0),
    "input_dropout": (0.0, 0.2, 0.4),
    "hidden": ((64,), (128,), (256,)),
    "risk_rate": (5e-4, 1e-3, 2e-3),
    "context_batch": (64, 128, 256),
    "folds": (5, 8),
}
KAPPAS = (0.25, 1.0, 4.0, 16.0)
TAUS = (0.5, 1.0, 2.0, 4.0)
FINALISTS = 1


def coordinate_search(
    method: str,
    logs: Logs,
    start: Settings,
    changed: Changes,
    values: Values,
    tell: OnCandidate,
) -> tuple[Candidate, list[Candidate]]:
    """Go through the settings in order; a value is taken if it is clearly better than the best so far."""
    seeds = list(logs)
    best = judge(Candidate(method, start, changed), logs, seeds)
    tell(best, None)
    seen = [best]
    for name, tries in values.items():
        for value in tries:
            if value == getattr(best.settings, name):
                continue
            settings = replace(best.settings, **{name: value})
            candidate = judge(Candidate(method, settings, best.changed | {name: value}), logs, seeds)
            tell(candidate, best)
            seen.append(candidate)
            if clearly_better(candidate, best):
                best = candidate
    return best, seen


def constraint_search(
    method: str,
    logs: Logs,
    start: Settings,
    grid: list[Changes],
    screen: int,
    tell: OnCandidate,
) -> tuple[Candidate, list[Candidate]]:
    """Screen the grid with the first seeds; the best of what is ahead of the twin there is learned with all.

    The best of many is partly the luckiest of many, so what wins must also be ahead on the seeds that did not
    screen it.
    """
    seeds = list(logs)
    direct = METHODS[METHODS[method].twin]
    own = direct.settings(**read_of(direct.settings, vars(start)))
    twin = Candidate(direct.name, own, {"kappa": NEVER_BINDS})
    tell(judge(twin, logs, seeds[:screen]), None)
    screened = []
    for changes in grid:
        candidate = judge(Candidate(method, replace(start, **changes), changes), logs, seeds[:screen])
        tell(candidate, twin)
        screened.append(candidate)
    ahead = [c for c in screened if c.eligible and difference(c, twin).mean < 0]
    finalists = sorted(ahead, key=lambda c: difference(c, twin).mean)[:FINALISTS]
    best = twin
    if finalists:
        tell(judge(twin, logs, seeds), None)
    for candidate in finalists:
        tell(judge(candidate, logs, seeds), twin)
        fresh = difference(candidate, twin, seeds=seeds[screen:]).mean if screen < len(seeds) else -1.0
        if fresh < 0 and surely_better(candidate, twin) and candidate.mean("score") < best.mean("score"):
            best = candidate
    return best, [twin, *screened]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--preset", choices=PRESETS, default="tuned", help="whose settings are the start")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--screen", type=int, default=2, help="seeds that screen the grid of a -reg method")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="changes of the start")
    parser.add_argument("--only", nargs="*", help="settings to go through; all of the method's if not given")
    parser.add_argument(
        "--try", dest="tries", nargs="*", metavar="NAME=JSON", help="lists to go through instead"
    )
    parser.add_argument("--kappas", type=float, nargs="+", default=list(KAPPAS))
    parser.add_argument("--taus", type=float, nargs="+", default=list(TAUS))
    parser.add_argument("--draw", type=int, help="points of a -reg method drawn from the lists of --try")
    parser.add_argument("--also", nargs="*", default=[], metavar="JSON", help="candidates beside the grid")
    parser.add_argument("--mlflow", action="store_true", help="log every candidate at MLFLOW_TRACKING_URI")
    parser.add_argument("--results", type=Path, default=RESULTS, help="table that records the search")
    return parser.parse_args()


def typed(method: str, settings: Settings, changes: Changes) -> Changes:
    """Values from JSON in the types that the settings have."""
    if wrong := unread(method, changes):
        raise BadInput(f"{'; '.join(wrong)}; leave it out")
    return {name: type(getattr(settings, name))(value) for name, value in changes.items()}


def parsed(assignments: list[str]) -> dict[str, Any]:
    """NAME=JSON as names and values."""
    pairs = (assignment.split("=", 1) for assignment in assignments)
    return {name: json.loads(value) for name, value in pairs}


def values_to_try(arguments: argparse.Namespace, start: Settings) -> Values:
    """What a coordinate search goes through: the lists that were given, else the method's own."""
    if arguments.tries is not None:
        lists = parsed(arguments.tries)
        return {
            name: tuple(typed(arguments.method, start, {name: v})[name] for v in tries)
            for name, tries in lists.items()
        }
    values = CLOSED_FORM if arguments.method.endswith("-exact") else DIRECT
    values = ADDITIVE if arguments.method in ADDITIVE_METHODS else values
    values = {name: tries for name, tries in values.items() if reads(arguments.method, name)}
    return values if arguments.only is None else {name: values[name] for name in arguments.only}


def constraint_grid(arguments: argparse.Namespace, start: Settings, changed: Changes) -> list[Changes]:
    """The points of a -reg method: a grid of kappa and tau, or draws from the lists that were given."""
    also = [changed | typed(arguments.method, start, json.loads(text)) for text in arguments.also]
    if not arguments.draw:
        points = itertools.product(arguments.kappas, arguments.taus)
        return [changed | {"kappa": kappa, "tau": tau} for kappa, tau in points] + also
    lists, chance = values_to_try(arguments, start), random.Random(0)
    drawn = [{name: chance.choice(values) for name, values in lists.items()} for _ in range(arguments.draw)]
    return [changed | point for point in drawn] + also


def main() -> None:
    arguments = parse()
    torch.set_num_threads(1)
    dataset, method = arguments.dataset, arguments.method
    start = preset(arguments.preset, dataset, method)
    changed = typed(method, start, parsed(arguments.set))
    start = replace(start, **changed)
    benchmark = open_benchmark(arguments.mirror, dataset)
    logs = {seed: benchmark.log(seed, SplitBy.CONTEXT) for seed in arguments.seeds}
    tell = to_mlflow(dataset, method) if arguments.mlflow else show
    if method.endswith("-reg"):
        grid = constraint_grid(arguments, start, changed)
        best, seen = constraint_search(method, logs, start, grid, arguments.screen, tell)
    else:
        values = values_to_try(arguments, start)
        best, seen = coordinate_search(method, logs, start, changed, values, tell)
    print(f"chosen: {best.name}")  # noqa: T201
    show(best, seen[0])
    print(settings_as_json(best.settings))  # noqa: T201
    rows = [row_of(dataset, method, c, seen[0], c is best) | {"preset": arguments.preset} for c in seen]
    write_rows(arguments.results, rows)


if __name__ == "__main__":
    main()
