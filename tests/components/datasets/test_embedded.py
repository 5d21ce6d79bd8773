import numpy as np

from multilogger.components.datasets.embedded import load_pairwise_split
from multilogger.components.datasets.registry import find_dataset


def test_shape_is_the_registered_one_and_draws_are_fixed() -> None:
    spec, splits, again = find_dataset("pairwise"), load_pairwise_split(), load_pairwise_split()
    assert (splits.train.rows, splits.test.rows) == (spec.n_train, spec.n_test)
    assert (splits.train.features, splits.train.space.size) == (spec.features, spec.space.size)
    np.testing.assert_array_equal(splits.test.x, again.test.x)
    np.testing.assert_array_equal(splits.test.y, again.test.y)


def test_neighbours_are_never_true_together() -> None:
    y = load_pairwise_split().train.y
    assert not (y & np.roll(y, 1, axis=1)).any()
    assert 0.1 < y.mean() < 0.4
