"""Mean, spread and scaling of features in blocks: the bits of the whole array, and one dense copy of it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from multilogger.components.errors import BadInput
from multilogger.components.log.memory import densify
from multilogger.components.policies.feature_scaling import BLOCK_ROWS, moments, scaled


@pytest.mark.parametrize(
    "shape", [(5, 3), (BLOCK_ROWS, 4), (BLOCK_ROWS + 1, 2), (3 * BLOCK_ROWS, 1), (30_000, 37)]
)
@pytest.mark.parametrize("thin", [False, True])
def test_blocks_have_the_bits_of_the_whole(shape: tuple[int, int], thin: bool) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.normal(size=shape) * 10 ** rng.uniform(-3, 3, shape[1])).astype(np.float32)
    dense[rng.random(shape) < 0.5] = 0
    x = sparse.csr_array(dense) if thin else dense
    found = moments(x)
    np.testing.assert_array_equal(found.mean, dense.mean(axis=0, dtype=np.float64))
    np.testing.assert_array_equal(found.spread, dense.std(axis=0, dtype=np.float64))
    mean, scale = found.mean.astype(np.float32), (found.spread + 1).astype(np.float32)
    np.testing.assert_array_equal(scaled(x, mean, scale), (dense - mean) / scale)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize(("value", "mean", "scale"), [(3e38, 0.0, 0.5), (-3e38, 3e38, 2.0)])
def test_a_feature_too_far_to_be_scaled_is_refused(
    thin: bool, value: float, mean: float, scale: float
) -> None:
    x = np.zeros((BLOCK_ROWS + 3, 2), dtype=np.float32)
    x[-1, 1] = value
    usual, spread = np.array([0, mean], np.float32), np.array([1, scale], np.float32)
    with pytest.raises(BadInput, match=r"^feature 1 is -?3e\+38, too far from its usual .*; mend the value"):
        scaled(sparse.csr_array(x) if thin else x, usual, spread)


def test_a_thin_log_is_made_dense_once() -> None:
    x = sparse.csr_array(sparse.random(100_000, 200, 0.01, rng=0, dtype=np.float32))
    one = densify(x).nbytes
    tracemalloc.start()
    found = moments(x)
    tracemalloc.reset_peak()
    held = scaled(x, found.mean.astype(np.float32), np.ones(200, dtype=np.float32))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held.nbytes == one
    assert peak < 1.5 * one


def test_moments_make_no_dense_copy() -> None:
    x = sparse.csr_array(sparse.random(100_000, 200, 0.01, rng=0, dtype=np.float32))
    tracemalloc.start()
    moments(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * 100_000 * 200 * 4
