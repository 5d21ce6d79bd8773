import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from multilogger.components.errors import BadInput
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.learners.training.row_batches import TensorRows
from multilogger.components.log.memory import TrainingLog, densify


def test_parts_hold_the_rows_of_their_side(log: TrainingLog) -> None:
    train, validation = log.part(validation=False), log.part(validation=True)
    assert len(train.delta) + len(validation.delta) == log.rows
    np.testing.assert_array_equal(validation.delta, log.delta[log.validation])
    np.testing.assert_array_equal(train.counts, np.bincount(log.logger[~log.validation]))
    own = log.log_propensities[np.arange(log.rows), log.logger]
    np.testing.assert_array_equal(train.log_propensity, own[~log.validation])
    np.testing.assert_allclose(train.log_average, log_mixture(train.log_propensities, train.counts))


def test_rows_under_a_logger_have_weight_one(log: TrainingLog) -> None:
    batch = log.part(validation=False).under(log.logger_logits[1])
    mine = batch.logger == 1
    np.testing.assert_allclose(batch.log_target[mine], batch.log_propensity[mine])


def test_every_step_draws_b_rows_of_each_logger(log: TrainingLog) -> None:
    part = log.part(validation=False)
    rows = TensorRows.of(part)
    batches = rows.batches(50, torch.Generator().manual_seed(0))
    longest = int(part.counts.max())
    assert batches.shape == (longest // 50, 2, 50)
    for j in range(2):
        assert set(part.logger[batches[:, j].flatten().numpy()].tolist()) == {j}
    first = batches[:, int(part.counts.argmax())].flatten().tolist()
    assert len(first) == len(set(first))


def test_rows_of_a_short_log_are_equally_often_drawn(log: TrainingLog) -> None:
    rows = replace(TensorRows.of(log.part(validation=False)), by_logger=(torch.arange(6), torch.arange(6, 8)))
    batches = rows.batches(3, torch.Generator().manual_seed(0))
    assert torch.bincount(batches[:, 1].flatten())[6:].tolist() == [3, 3]


def test_batch_size_is_at_most_the_longest_log(log: TrainingLog) -> None:
    part = log.part(validation=False)
    shape = TensorRows.of(part).batches(10**6, torch.Generator().manual_seed(0)).shape
    assert shape == (1, 2, int(part.counts.max()))


def test_sparse_contexts_become_dense(log: TrainingLog) -> None:
    thin = replace(log, x=sparse.csr_array(log.x))
    np.testing.assert_array_equal(densify(thin.x), log.x)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": np.zeros(3)}, "a log needs columns of one length"),
        ({"action": np.zeros(1050, dtype=np.uint8)}, "action must be (n, 3) and log_propensities (n, J)"),
        ({"context": np.full(1050, 150)}, "context numbers must lie in 0..149, got 150 to 150"),
        ({"logger_logits": (np.zeros((150, 3)),)}, "logits of 2 loggers are needed, got 1"),
        ({"truth": np.zeros((150, 2), dtype=np.uint8)}, "one row per context, (150, 3), got (150, 2)"),
        ({"validation": np.ones(1050, dtype=np.bool_)}, "rows in the training split, got loggers [] of 2"),
        ({"logger": np.zeros(1050, dtype=np.int64)}, "rows in the training split, got loggers [0] of 2"),
    ],
)
def test_bad_logs(log: TrainingLog, changes: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        replace(log, **changes)  # type: ignore[arg-type]
