"""Peak memory and time of learning from a log on disk, over those of learning with the log in memory.

    python benchmarks/streaming_memory.py --rows 2000000 --memory-rows 100000 --epochs 2 --method weighted

Writes a simulated log to a temporary folder, and one of a tenth of its rows, then learns from each of them
both ways, in processes of their own. By how much the peak grows from the short log to the long one is what
rows cost, apart from libraries, contexts and networks.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import Labels
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.log.schema import (
    ROW_GROUP_ROWS,
    LogOrigin,
    log_file,
    log_schema,
    to_table,
)
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

CONTEXTS, FEATURES, LABELS = 50_000, 20, 10
ALPHAS = (0.1, 0.8)
WAYS = ("memory", "disk")


def contexts() -> tuple[Features, Labels, list[Matrix]]:
    """x, the true labels and the logits of the two loggers; the same in every process."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CONTEXTS, FEATURES)).astype(np.float32)
    scores = x.astype(np.float64) @ rng.normal(size=(FEATURES, LABELS)) / np.sqrt(FEATURES / 4)
    return x, (scores + rng.normal(size=scores.shape) > 0).astype(np.uint8), [a * scores for a in ALPHAS]


def write_log(folder: Path, rows: int) -> int:
    """About `rows` rows, as `replay` would write them; returns how many."""
    import pyarrow.parquet as pq

    _, truth, logits = contexts()
    passes = max(1, round(rows / (CONTEXTS * len(ALPHAS))))
    plan = ReplayPlan(0, 0.25, SplitBy.ROW, ROW_GROUP_ROWS)
    for j, alpha in enumerate(ALPHAS):
        for pass_ in range(passes):
            schema = log_schema(Labels(LABELS), len(ALPHAS), LogOrigin("simulated", 0, j, alpha, pass_))
            path = log_file(folder, j, pass_)
            path.parent.mkdir(parents=True)
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                for part in replay_pass(Labels(LABELS), logits, truth, j, pass_, plan):
                    writer.write_table(to_table(part, schema))
        sys.stderr.write(f"\rlog of logger {j + 1} of {len(ALPHAS)} written")
    sys.stderr.write("\n")
    return passes * CONTEXTS * len(ALPHAS)


def learn_one_way(way: str, folder: Path, method: str, memory_rows: int, epochs: int) -> dict[str, float]:
    """Peak RSS in MB, seconds, and the validation risk of the best epoch."""
    import torch

    from multilogger.components.learners.learn import learn
    from multilogger.components.learners.methods import METHODS
    from multilogger.components.learners.training.settings import changed
    from multilogger.components.log.reading import open_streamed_log, read_training_log

    torch.set_num_threads(1)
    # The network of the measurements before, whatever a method has by default.
    numbers = {
        "hidden": (64,),
        "batch_norm": True,
        "standardise": False,
        "risk_rate": 1e-3,
        "epochs": epochs,
        "model_epochs": epochs,
        "memory_rows": memory_rows,
    }
    settings = changed(METHODS[method].settings(), numbers)
    x, truth, logits = contexts()
    start = time.perf_counter()
    read = read_training_log if way == "memory" else open_streamed_log
    risk = learn(method, read(folder, x, tuple(logits), truth), settings, 0).best.validation_risk
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts in KB
    return {"peak": peak, "seconds": time.perf_counter() - start, "validation_risk": risk}


def in_own_process(way: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    arguments = ["--way", way, "--folder", str(folder), "--method", options.method]
    arguments += ["--memory-rows", str(options.memory_rows), "--epochs", str(options.epochs)]
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--memory-rows", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--method", default="weighted")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        measured = learn_one_way(
            options.way, options.folder, options.method, options.memory_rows, options.epochs
        )
        sys.stdout.write(json.dumps(measured) + "\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        short, long = Path(folder) / "short", Path(folder) / "long"
        write_log(short, options.rows // 10)
        rows = write_log(long, options.rows)
        found: dict[str, dict[str, float]] = {}
        growth: dict[str, float] = {}
        for way in WAYS:
            found[way] = in_own_process(way, long, options)
            growth[way] = found[way]["peak"] - in_own_process(way, short, options)["peak"]
    ratios = {name: found["disk"][name] / found["memory"][name] for name in found["disk"]}
    ratios["growth of the peak"] = growth["disk"] / growth["memory"]
    sys.stdout.write(
        f"{rows} rows, learn.memory_rows={options.memory_rows}, {options.epochs} epochs of {options.method}; "
        "from disk over in memory:\n"
    )
    for name, ratio in ratios.items():
        sys.stdout.write(f"{name:20} {ratio:.3f}\n")


if __name__ == "__main__":
    main()
