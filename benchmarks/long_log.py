"""A long log of one-of-K actions on disk, a linear policy beside it, and the floor of evaluating one on it.

    python benchmarks/long_log.py --rows 5000000 --rows-per-context 8 --folder /somewhere/with/space

writes `log/*.parquet` and `policy/`. The floor is what no evaluation can go below: one pass over the same
columns with Arrow, the linear policy by numpy, and sums of weighted losses per logger.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector

FEATURES, ACTIONS = 10, 10
SHARPNESS = (0.3, 0.7, 1.0)
BATCH = 2**17
FILE_ROWS = 2**21


def weights() -> Matrix:
    return np.random.default_rng(0).normal(scale=FEATURES**-0.5, size=(FEATURES, ACTIONS))


def write_log(folder: Path, rows: int, rows_per_context: int) -> None:
    """Contexts come back at random times; loggers act in turn; the loss is 0 or 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng, table = np.random.default_rng(1), weights()
    contexts = max(1, rows // rows_per_context)
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        writer, last = None, min(rows, first + FILE_ROWS)
        for start in range(first, last, BATCH):
            n = min(BATCH, last - start)
            context = np.arange(start, start + n) if rows_per_context == 1 else rng.integers(0, contexts, n)
            part = _batch(context, table, rng)
            writer = writer or pq.ParquetWriter(folder / f"{number:04}.parquet", part.schema)
            writer.write_table(pa.Table.from_batches([part]))
        if writer is not None:
            writer.close()


def _batch(context: np.ndarray, table: Matrix, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    n = len(context)
    x = features_of(context)
    scores = x @ table.astype(np.float32)
    logger = rng.integers(0, len(SHARPNESS), n)
    tables = np.stack([log_softmax(sharp * scores) for sharp in SHARPNESS])
    own = np.exp(tables[logger, np.arange(n)])
    action = (own.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, ACTIONS - 1)
    every = tables[:, np.arange(n), action].T.astype(np.float64)
    chance = 1.0 / (1.0 + np.exp(scores[np.arange(n), action]))
    columns = {
        "context": pa.array(context.astype(np.int64)),
        "x": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), FEATURES),
        "action": pa.array(action.astype(np.int32)),
        "delta": pa.array((rng.random(n) < chance).astype(np.float32)),
        "log_propensity": pa.array(every[np.arange(n), logger]),
        "log_propensities": pa.FixedSizeListArray.from_arrays(pa.array(every.ravel()), len(SHARPNESS)),
        "logger": pa.array(logger.astype(np.int32)),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def features_of(context: np.ndarray) -> np.ndarray:
    """Features that depend on the number of the context alone: (n, d), nearly normal."""
    phases = np.random.default_rng(2).random(FEATURES)
    golden = (np.sqrt(np.arange(2, FEATURES + 2)) % 1).astype(np.float64)
    turns = (context[:, None] * golden + phases) % 1.0
    return (3.0 * (turns - 0.5) * 1.1547).astype(np.float32)


def log_softmax(scores: Matrix) -> Matrix:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def write_policy(folder: Path) -> None:
    """The linear policy of the benchmark, as a learner would save it."""
    import torch

    from multilogger.components.actions.one_of import OneOf
    from multilogger.components.policies.network_size import LINEAR
    from multilogger.components.policies.networks import PolicyNetwork
    from multilogger.components.policies.policy import LearnedPolicy, Standardisation

    folder.mkdir(parents=True)
    network = PolicyNetwork(FEATURES, ACTIONS, LINEAR, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for value in network.parameters():
            value.copy_(torch.from_numpy(0.85 * weights().T) if value.ndim == 2 else torch.zeros_like(value))
    LearnedPolicy(network, LINEAR, Standardisation.none(FEATURES), OneOf(ACTIONS), "linear", 0, {}).save(
        folder
    )


def floor(log: Path) -> Vector:
    """Sums of weighted losses per logger in one pass, with the columns that an evaluation reads."""
    import pyarrow.parquet as pq

    table, sums = (0.85 * weights()).astype(np.float32), np.zeros((3, len(SHARPNESS)))
    for path in sorted(log.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(65536, use_threads=False):
            columns = {name: batch.column(name) for name in batch.schema.names}
            x = columns["x"].flatten().to_numpy().reshape(-1, FEATURES)
            action, logger = columns["action"].to_numpy(), columns["logger"].to_numpy()
            logits = (x @ table).astype(np.float64)
            log_h = logits[np.arange(len(x)), action] - np.log(np.exp(logits).sum(axis=1))
            w = np.exp(log_h - columns["log_propensity"].to_numpy())
            u = w * columns["delta"].to_numpy()
            for i, term in enumerate((w, u, u * u)):
                sums[i] += np.bincount(logger, term, minlength=len(SHARPNESS))
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rows-per-context", type=int, default=8)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    write_log(options.folder / "log", options.rows, options.rows_per_context)
    write_policy(options.folder / "policy")
    start = time.process_time()
    floor(options.folder / "log")
    sys.stdout.write(f"floor: {time.process_time() - start:.2f} s of processor\n")


if __name__ == "__main__":
    main()
