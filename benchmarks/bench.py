"""What the slow parts cost, each against the least that the same work can cost, in one table with targets.

    make bench                                            # or python benchmarks/bench.py
    python benchmarks/bench.py --rows 5000000 --only evaluate,replay
    python benchmarks/bench.py --only peers --peers FOLDER   # where pip put obp: see obp_learner.py

Most figures are ratios of two things that are measured in this run, in turns, the best of several, in one
thread (OMP_NUM_THREADS=1, which `make bench` sets); a figure with a unit is no ratio. A line without a target
is there to be read, not to be met.
Processor time is counted, so that other work on the machine disturbs little; starts of commands are wall
clock. Logs are written to a temporary folder, about 100 bytes a row.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from bandit_data import open_benchmark
from constraint_cost import bare_loop
from long_log import floor, write_log, write_policy

from multilogger.components.actions.known_contexts import log_chances
from multilogger.components.actions.labels import Labels
from multilogger.components.datasets.reduction import fit_reduction
from multilogger.components.evaluation import evaluation
from multilogger.components.learners.learn import learn
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.settings import RiskSettings, changed
from multilogger.components.log.disk import PolicyTable
from multilogger.components.log.files import open_log_files
from multilogger.components.log.schema import LogOrigin, log_file, log_schema
from multilogger.components.log.writing import RowWriter
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass
from multilogger.components.long_log.logger_stats import logger_stats_of
from multilogger.components.long_log.summing import LONG_ROWS
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from multilogger.tasks.engine.empty_databases import FOLDER

LABELS, CONTEXTS, PASSES = 10, 50_000, 8
MOST_MEMORY = 1000.0  # MB, where row groups have some 100,000 rows
TMC_ROWS, TMC_FEATURES, TMC_WORDS, TMC_DIMS = 21_519, 30_438, 100, 1000


@dataclass(frozen=True)
class Place:
    """Where logs may be written, how many rows they have, and how often a thing is measured.

    `data` has the LibSVM site's files under its relative names.
    """

    folder: Path
    rows: int
    repeats: int
    peers: Path | None = None
    data: Path | None = None


@dataclass(frozen=True)
class Figure:
    """A ratio, or a number with a unit, and what it should be at most, if anybody said."""

    what: str
    value: float
    target: float | None = None
    unit: str = "x"

    def line(self) -> str:
        if self.target is None:
            return f"| {self.what} | {self.value:.2f} {self.unit} | | |"
        verdict = "met" if self.value <= self.target else "falls short"
        return f"| {self.what} | {self.value:.2f} {self.unit} | {self.target:g} {self.unit} | {verdict} |"


Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Of processor."""
    started = time.process_time()
    work()
    return time.process_time() - started


def best_of(repeats: int, *works: Work) -> list[float]:
    """The least seconds of each, measured in turns."""
    found = [[seconds(work) for work in works] for _ in range(repeats)]
    return [min(column) for column in zip(*found, strict=True)]


def evaluate(place: Place) -> Iterator[Figure]:
    """`evaluate` over one Arrow pass with a linear policy and sums of weighted losses.

    Up to `LONG_ROWS` rows it works in memory, by another way: the line says so.
    """
    way = "" if place.rows > LONG_ROWS else " in memory"
    for per_context, target in ((8, 3.0), (1, 4.0)):
        folder = place.folder / f"evaluate-{per_context}"
        write_log(folder / "log", place.rows, per_context)
        write_policy(folder / "policy")
        options = EvaluateOptions(str(folder / "policy"), folder / "log", folder / "out", track=False)
        ours, least = best_of(
            place.repeats, partial(evaluate_on_logs, options), partial(floor, folder / "log")
        )
        name = "unique contexts" if per_context == 1 else f"{per_context} rows per context"
        what = f"evaluate{way}, {place.rows:,} rows, {name}"
        yield Figure(f"{what}, over the floor", ours / least, target)
        yield Figure(f"{what}, share of the bootstrap", 100 * _bootstrap_share(options), unit="%")
        yield Figure(f"{what}, peak memory", _peak_memory(options), MOST_MEMORY, "MB")


def _bootstrap_share(options: EvaluateOptions) -> float:
    """What resampling takes of the processor time of an evaluation."""
    spent: list[float] = []
    resample = evaluation.resample

    def timed(*given: Any) -> Any:
        found: list[Any] = []
        spent.append(seconds(lambda: found.append(resample(*given))))
        return found[0]

    evaluation.resample = timed
    try:
        whole = seconds(partial(evaluate_on_logs, options))
        return sum(spent) / whole
    finally:
        evaluation.resample = resample


def _peak_memory(options: EvaluateOptions) -> float:
    """MB of a process that evaluates and does nothing else; the kernel counts from its own start."""
    program = (
        "import sys; from pathlib import Path; import torch; torch.set_num_threads(1); "
        "from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs; "
        "evaluate_on_logs(EvaluateOptions(sys.argv[1], *map(Path, sys.argv[2:]), track=False)); "
        "print(Path('/proc/self/status').read_text())"
    )
    given = (str(options.policy), str(options.logs), str(options.out))
    done = subprocess.run([sys.executable, "-c", program, *given], check=True, capture_output=True, text=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def replay(place: Place) -> Iterator[Figure]:
    """Drawing and writing a log over writing the same columns, and lambda* over reading its columns."""
    rng = np.random.default_rng(0)
    contexts = min(CONTEXTS, max(1, place.rows // (2 * PASSES)))
    truth = (rng.random((contexts, LABELS)) < 0.3).astype(np.uint8)
    logits = [scale * rng.normal(size=(contexts, LABELS)) for scale in (0.1, 2.0)]
    folder = place.folder / "replay"
    draw = partial(_draw, folder, logits, truth)
    draw()
    paths = sorted(folder.rglob("*.parquet"))
    tables = [pq.read_table(path) for path in paths]

    def bare() -> None:
        for table in tables:
            pq.write_table(table, place.folder / "bare.parquet", compression="zstd")

    ours, least = best_of(place.repeats, draw, bare)
    yield Figure(f"replay, {2 * PASSES * contexts:,} rows, over a bare zstd write", ours / least, 1.5)
    policy = PolicyTable.of(Labels(LABELS), logits[1])
    files = open_log_files(folder, contexts_given=True)
    columns = ["logger", "context", "action", "delta", "log_propensity"]

    def bare_read() -> None:
        for path in paths:
            for _ in pq.ParquetFile(path).iter_batches(65536, columns=columns, use_threads=False):
                pass

    ours, least = best_of(place.repeats, partial(logger_stats_of, files, policy, 2), bare_read)
    yield Figure("lambda-star over a bare read of its columns", ours / least, 1.5)


def _draw(folder: Path, logits: list[Any], truth: Any) -> None:
    plan = ReplayPlan(0, 0.25, SplitBy.ROW, 8192)
    chances = [log_chances(Labels(LABELS), table, len(logits) * PASSES) for table in logits]
    for j in range(len(logits)):
        for r in range(PASSES):
            path = log_file(folder, j, r)
            path.parent.mkdir(parents=True, exist_ok=True)
            schema = log_schema(Labels(LABELS), len(logits), LogOrigin("bench", 0, j, 1.0, r))
            with RowWriter(path, schema) as writer:
                for rows in replay_pass(Labels(LABELS), logits, truth, j, r, plan, chances=chances):
                    writer.add(rows)


def epochs(place: Place) -> Iterator[Figure]:
    """An epoch with validation, record and lambda* over a bare PyTorch loop of the direct method.

    On digits a step is a millisecond, most of it what PyTorch costs per call. Scene and Yeast, whose files
    `--data` names, have larger steps.
    """
    for dataset in ("digits", *(("scene", "yeast") if place.data else ())):
        yield from _epochs_on(dataset, place)


def _epochs_on(dataset: str, place: Place) -> Iterator[Figure]:
    log = open_benchmark(place.data or Path(), dataset).log(100)
    passes, repeats = 100, max(5, place.repeats)  # of a second each, not of some hundredths

    def settings(method: str) -> RiskSettings:
        found = preset("printed-objective", dataset, method)
        assert isinstance(found, RiskSettings)
        return found

    def run(method: str) -> object:
        found = settings(method)
        short = {"epochs": passes // found.passes_per_epoch, "patience": passes, "checkpoint_every": 0}
        more = {"warm_up_steps": 1, "inner_iterations": 1} if method.endswith("-reg") else {}
        return learn(method, log, changed(found, short | more), 0)

    methods = {"weighted": 1.1, "weighted-reg": 2.0, "weighted-exact": 0.7}
    bare, *ours = best_of(
        repeats,
        partial(bare_loop, log, settings("weighted"), passes),
        *(partial(run, method) for method in methods),
    )
    for (method, target), spent in zip(methods.items(), ours, strict=True):
        yield Figure(f"epoch of {method} on {dataset} over a bare PyTorch loop", spent / bare, target)


def reduction(place: Place) -> Iterator[Figure]:
    """The SVD of a matrix of the shape of TMC: seconds of processor."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    words = rng.zipf(1.3, size=(TMC_ROWS, TMC_WORDS)) % TMC_FEATURES
    rows = np.repeat(np.arange(TMC_ROWS), TMC_WORDS)
    ones = np.ones(rows.size, dtype=np.float32)
    x = sparse.csr_matrix((ones, (rows, words.ravel())), shape=(TMC_ROWS, TMC_FEATURES))
    (spent,) = best_of(min(2, place.repeats), partial(fit_reduction, x, TMC_DIMS, 0))
    yield Figure(f"SVD of {TMC_ROWS:,} x {TMC_FEATURES:,} to {TMC_DIMS}, one thread", spent, 15.0, "s")


def starts(place: Place) -> Iterator[Figure]:
    """Of a command on a new store and of the same again, over importing what both need.

    The first store of an environment makes the empty databases that later stores copy: that is what a new
    user waits for. Where the environment has had a store before, the line says that they were there.
    """
    there = FOLDER.is_dir() and any(FOLDER.iterdir())
    bare = [sys.executable, "-c", "import prefect.flows, mlflow, torch"]
    command = [str(Path(sys.executable).with_name("multilogger")), "prepare", "--dataset", "digits"]
    found: dict[str, list[float]] = {"bare": [], "fresh": [], "again": []}
    for number in range(place.repeats + 1):
        surroundings = {**os.environ, "MULTILOGGER_HOME": str(place.folder / f"store-{number}")}
        for name, program in (("fresh", command), ("again", command), ("bare", bare)):
            started = time.monotonic()
            subprocess.run(program, env=surroundings, check=True, capture_output=True)
            found[name].append(time.monotonic() - started)
    least = {name: min(times[1:]) for name, times in found.items()}
    about = ", empty databases at hand" if there else ""
    yield Figure(f"three stages on the first store{about}", found["fresh"][0], unit="s")
    yield Figure("three stages on a later new store, from start to end", least["fresh"], 8.0, "s")
    yield Figure("the same again over the bare imports", least["again"] / least["bare"], 1.5)


def peers(place: Place) -> Iterator[Figure]:
    """An epoch of ours and one of OBP's `NNPolicyLearner`: the same rows, network, rate and rows a step.

    Ours also looks at validation rows and keeps a record; theirs learns from all rows that it gets, and has
    our batches, which are faster than its own.
    """
    if place.peers is None:
        return
    import obp_learner

    import multilogger as ml

    offline, passes = obp_learner.offline_module(place.peers), 20
    data = ml.datasets.load_dataset("digits-one-of")
    log = ml.datasets.replay(data.train, seed=0, validation=0.25)
    x, _ = obp_learner.standardised(data)
    assert log.validation is not None
    assert log.log_propensities is not None
    rows, size = ~log.validation, max(1, 200 // log.log_propensities.shape[1])

    def ours() -> object:
        learner = ml.Naive(
            hidden=(100,), risk_rate=1e-3, batch_size=size, epochs=passes, patience=passes, warm_start=0
        )
        return learner.fit(log)

    def theirs() -> object:
        given = {"off_policy_objective": "ipw", "learning_rate_init": 1e-3, "max_iter": passes}
        return obp_learner.learn(offline, log, x, rows, "own", 0, **given)

    mine, other = best_of(max(3, place.repeats), ours, theirs)
    count = f"{int(rows.sum()):,} rows, one of {log.space.size} actions"
    yield Figure(f"epoch of naive, {count}", 1000 * mine / passes, unit="ms")
    yield Figure(f"epoch of NNPolicyLearner of obp, {count}", 1000 * other / passes, unit="ms")
    yield Figure("epoch of naive over that of NNPolicyLearner", mine / other, 1.0)


PARTS: dict[str, Callable[[Place], Iterator[Figure]]] = {
    "evaluate": evaluate,
    "replay": replay,
    "epochs": epochs,
    "reduction": reduction,
    "starts": starts,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--peers", type=Path, help="folder with an installed obp; without it no peers")
    parser.add_argument("--data", type=Path, help="folder with the LibSVM site's relative names: more epochs")
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - set(PARTS):
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    torch.set_num_threads(1)
    sys.stdout.write("| what | measured | target | |\n|---|---|---|---|\n")
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), options.rows, options.repeats, options.peers, options.data)
            for figure in PARTS[name](place):
                sys.stdout.write(f"{figure.line()}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
