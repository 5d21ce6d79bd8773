import numpy as np
import pytest
from scipy import sparse

from multilogger.components.datasets.reduction import fit_reduction


def low_rank(rng: np.random.Generator) -> sparse.csr_array:
    left = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.3)
    return sparse.csr_array((left @ rng.normal(size=(3, 40))).astype(np.float32))


def test_keeps_a_matrix_of_low_rank(rng: np.random.Generator) -> None:
    x = low_rank(rng)
    reduction = fit_reduction(x, dims=3, seed=0)
    np.testing.assert_allclose(reduction.apply(x) @ reduction.axes, x.toarray(), atol=1e-4)
    assert reduction.explained.sum() == pytest.approx(1.0, abs=1e-3)


def test_axes_are_the_singular_vectors_of_train(rng: np.random.Generator) -> None:
    x = low_rank(rng)
    exact = np.linalg.svd(x.toarray())[2][:2]
    axes = fit_reduction(x, dims=2, seed=0).axes
    np.testing.assert_allclose(np.abs((axes * exact).sum(axis=1)), 1.0, atol=1e-4)


def test_same_seed_same_bits(rng: np.random.Generator) -> None:
    x = low_rank(rng)
    np.testing.assert_array_equal(fit_reduction(x, 2, seed=7).axes, fit_reduction(x, 2, seed=7).axes)


@pytest.mark.parametrize("shape", [(30, 90), (60, 40)])
def test_no_more_dimensions_are_kept_than_there_are(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x = sparse.csr_array(rng.normal(size=shape).astype(np.float32))
    reduction = fit_reduction(x, dims=1000, seed=0)
    assert reduction.axes.shape == (min(shape), shape[1])
    lengths = np.linalg.norm(reduction.apply(x), axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(x.toarray(), axis=1), rtol=1e-4)
