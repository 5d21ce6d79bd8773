"""The sample of a log: as many rows as may be kept, each with the features of its own context."""

import numpy as np
import pytest

from multilogger.components.evaluation.loss_models.cross_fitting import ModelRows
from multilogger.components.evaluation.loss_models.pair_networks import RowSampler

CONTEXTS = 30


def log_rows(with_features: bool) -> ModelRows:
    """Three rows per context; the loss is the row's number, the only feature that of its context."""
    context = np.tile(np.arange(CONTEXTS), 3)
    rows = len(context)
    return ModelRows(
        context=context,
        logger=np.where(context < 10, 4, 2),
        logits=np.zeros((rows, 2)),
        action=np.zeros((rows, 2), dtype=np.uint8),
        delta=np.arange(rows, dtype=np.float64),
        x=context[:, None].astype(np.float32) if with_features else None,
    )


def part(rows: ModelRows, chosen: slice) -> ModelRows:
    x = None if rows.x is None else rows.x[chosen]
    return ModelRows(
        rows.context[chosen],
        rows.logger[chosen],
        rows.logits[chosen],
        rows.action[chosen],
        rows.delta[chosen],
        x,
    )


@pytest.mark.parametrize("apart", [False, True])
def test_a_row_stands_with_the_features_of_its_context(apart: bool) -> None:
    rows = log_rows(with_features=not apart)
    sampler = RowSampler(len(rows.delta), CONTEXTS, 40, np.random.default_rng(0))
    for start in range(0, len(rows.delta), 7):
        sampler.add(part(rows, slice(start, start + 7)))
    if apart:
        numbers = np.array([*range(CONTEXTS), -1])  # the last context of the file is not in the log
        sampler.pick_features([(numbers[::-1], numbers[::-1, None].astype(np.float32))])
    sample = sampler.take()
    assert len(sample.delta) == sampler.size == 40
    assert len(set(sample.delta)) == 40
    np.testing.assert_array_equal(sample.kept[sample.context], sample.delta % CONTEXTS)
    np.testing.assert_array_equal(sample.x[:, 0], sample.kept)
    assert len(set(sample.kept.tolist())) == len(sample.kept)
    np.testing.assert_array_equal(sample.logger, sample.kept[sample.context] < 10)
    np.testing.assert_array_equal(sample.counts, np.bincount(sample.logger))


def test_a_short_log_is_kept_whole() -> None:
    rows = log_rows(with_features=True)
    sampler = RowSampler(len(rows.delta), CONTEXTS, 1000, np.random.default_rng(0))
    sampler.add(rows)
    np.testing.assert_array_equal(sampler.take().delta, rows.delta)
