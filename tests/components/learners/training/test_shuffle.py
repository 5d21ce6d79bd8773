from collections.abc import Iterator

import numpy as np
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.learners.training.shuffle import (
    LoggerStream,
    Records,
    ShuffleBuffer,
    batch_sizes,
    block_limit,
    buffer_limit,
    record_type,
    streamed_batches,
)
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog

KIND = record_type(Labels(3))


def numbered(count: int, block: int) -> Iterator[Records]:
    """Rows 0, 1, 2, ... in blocks."""
    for start in range(0, count, block):
        rows = np.zeros(min(block, count - start), dtype=KIND)
        rows["context"] = np.arange(start, start + len(rows))
        yield rows


@pytest.mark.parametrize(("count", "limit"), [(1000, 100), (1000, 7), (50, 100), (0, 10)])
def test_buffer_gives_every_row_once_and_stays_within_its_limit(count: int, limit: int) -> None:
    source = numbered(count, block_limit(limit))
    buffer = ShuffleBuffer(source, KIND, limit, np.random.default_rng(0))
    parts = []
    while len(part := buffer.take(13)):
        parts.append(part["context"])
    assert all(len(part) == 13 for part in parts[:-1])
    seen = np.concatenate([*parts, np.empty(0, dtype=np.int32)])
    assert sorted(seen.tolist()) == list(range(count))
    assert min(count, limit - block_limit(limit)) <= buffer.most_held <= limit


def test_first_row_is_drawn_evenly_from_the_pool() -> None:
    rng = np.random.default_rng(1)
    limit, draws = 24, 3000
    pool = limit - block_limit(limit)
    first = [
        int(ShuffleBuffer(numbered(100, block_limit(limit)), KIND, limit, rng).take(1)["context"][0])
        for _ in range(draws)
    ]
    counts = np.bincount(first, minlength=100)
    assert counts[pool:].sum() == 0
    expected = draws / pool
    chi2 = float(((counts[:pool] - expected) ** 2 / expected).sum())
    assert chi2 < 40  # 17 degrees of freedom: exceeded once in 700


def test_sizes_of_an_epoch_use_every_row() -> None:
    assert list(batch_sizes(1000, 300)) == [334, 333, 333]
    assert list(batch_sizes(5, 300)) == [5]
    assert sum(batch_sizes(12345, 500)) == 12345


def test_buffers_share_the_limit() -> None:
    assert buffer_limit(1000, 4, 50) == 250
    assert buffer_limit(10, 4, 50) == 100


def epoch_of(streamed: StreamedLog, seed: int, epoch: int, memory_rows: int = 200) -> list[Records]:
    return list(streamed_batches(streamed, True, 32, memory_rows, seed, epoch))


def test_epoch_passes_once_through_the_longest_log_and_wraps_the_others(
    log: TrainingLog, streamed: StreamedLog
) -> None:
    part = log.part(validation=False)
    batches = epoch_of(streamed, seed=3, epoch=0)
    assert {batch.shape[0] for batch in batches} == {2}
    assert all(32 <= batch.shape[1] < 64 for batch in batches)
    for j, own in enumerate(part.by_logger):
        expected = np.empty(len(own), dtype=KIND)
        expected["context"], expected["action"] = part.context[own], part.action[own]
        expected["delta"], expected["log_denominator"] = part.delta[own], part.log_average[own]
        rows = np.concatenate([batch[j] for batch in batches])
        assert len(rows) == part.counts.max()
        # Rows of one context may be equal; counts of bytes tell them apart as far as anything can.
        once = sorted(row.tobytes() for row in expected)
        first_pass = sorted(row.tobytes() for row in rows[: len(own)])
        assert first_pass == once, j
        assert {row.tobytes() for row in rows[len(own) :]} <= set(once)


def test_order_is_a_function_of_seed_and_epoch(streamed: StreamedLog) -> None:
    def bits(seed: int, epoch: int) -> bytes:
        return b"".join(batch.tobytes() for batch in epoch_of(streamed, seed, epoch))

    assert bits(3, 1) == bits(3, 1)
    assert len({bits(3, 0), bits(3, 1), bits(4, 0)}) == 3


def test_streams_stay_within_their_limit(streamed: StreamedLog) -> None:
    stream = LoggerStream(streamed, 0, average=False, limit=64, seed=0, epoch=0)
    for _ in range(12):
        stream.take(32)
    assert 48 <= stream.buffer.most_held <= 64
