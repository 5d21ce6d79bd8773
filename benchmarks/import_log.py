"""A long log of one's own: check it, import it and learn from it on disk; time and memory of each step.

    python benchmarks/import_log.py --rows 5000000 --folder /somewhere/with/space

Each step is a process of its own, so that its peak memory is its own. Prints one line per step: seconds of
wall clock and of processor, and the largest resident set; and what the log would take as arrays.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

BATCH = 250_000
ACTIONS, NUMBERS = 4, 4
STEPS = ("make", "check", "import", "learn")


def make(path: Path, rows: int) -> None:
    """Two loggers, a nearly uniform one and a sharp one; a reward that depends on the context."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    weights = rng.normal(size=(NUMBERS, ACTIONS))
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        x, logger = rng.normal(size=(n, NUMBERS)).astype(np.float32), rng.integers(0, 2, n)
        tables = []
        for sharp in (0.1, 1.0):
            odds = np.exp(sharp * (x @ weights))
            tables.append(odds / odds.sum(axis=1, keepdims=True))
        both = np.stack(tables)
        own = both[logger, np.arange(n)]
        action = (own.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, ACTIONS - 1)
        gain = (x @ weights)[np.arange(n), action]
        taken = both[:, np.arange(n), action]
        table = pa.table(
            {f"x{i}": x[:, i] for i in range(NUMBERS)}
            | {
                "country": pa.DictionaryArray.from_arrays(
                    rng.integers(0, 3, n).astype(np.int32), ["a", "b", "c"]
                ),
                "item": pa.DictionaryArray.from_arrays(action.astype(np.int32), ["jam", "pie", "rum", "tea"]),
                "click": (rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - gain))).astype(np.int8),
                "policy": pa.DictionaryArray.from_arrays(logger.astype(np.int32), ["old", "new"]),
                "p_new": taken[1],
                "p_old": taken[0],
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run_step(step: str, folder: Path, rows: int) -> None:
    """One step in this process."""
    log, made = folder / "log.parquet", folder / "imported"
    if step == "make":
        make(log, rows)
        return
    from multilogger.tasks.engine.artifact import Artifact, manifest_of
    from multilogger.tasks.engine.stage_run import StageRun
    from multilogger.tasks.own_log.import_settings import ImportLogSettings

    columns = {"action": "item", "reward": "click", "logger": "policy", "propensities": "p_new,p_old"}
    named = {"logs": str(log), "features": "x*,country", **columns}
    if step == "check":
        from multilogger.flows.evaluation.check import check_logs

        check_logs(ImportLogSettings(**named))
        return
    if step == "import":
        from multilogger.tasks.own_log.import_log import import_log

        settings = ImportLogSettings.build(named)
        made.mkdir()
        import_log.call(settings, {}, StageRun(made))
        return
    from multilogger.tasks.learn import learn_policy
    from multilogger.tasks.learn_settings import LearnSettings

    numbers = {"method": "balanced", "actions": "one-of", "epochs": 2, "memory_rows": 200_000, "hidden": "16"}
    artifact = Artifact(
        stage="import-log", key="k", path=made.name, files=manifest_of(made), run_id="r", root=folder
    )
    policy = folder / "policy"
    policy.mkdir()
    inputs = dict.fromkeys(("data", "loggers", "log"), artifact)
    learn_policy.call(LearnSettings.build(numbers), inputs, StageRun(policy))


def measure(step: str, folder: Path, rows: int) -> str:
    """One step in a process of its own."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, "--rows", str(rows), "--folder", str(folder), "--step", step]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall = time.perf_counter() - started
    return f"{step:8s} {wall:7.0f} s wall {busy:7.0f} s processor {after.ru_maxrss / 1024:7.0f} MB so far"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--step", choices=STEPS)
    given = parser.parse_args()
    if given.step is not None:
        run_step(given.step, given.folder, given.rows)
        return
    given.folder.mkdir(parents=True, exist_ok=False)
    for step in STEPS:
        sys.stdout.write(f"{measure(step, given.folder, given.rows)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
