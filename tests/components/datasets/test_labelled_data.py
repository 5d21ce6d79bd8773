from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from multilogger.components.datasets.embedded import load_digits_split
from multilogger.components.datasets.labelled_data import (
    LabelledData,
    append_constant,
    load_split,
    save_split,
)
from multilogger.components.errors import BadInput

Y = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8)
X = np.array([[0, 1.5, 0], [0, 0, 0], [2.5, 0, 1]], dtype=np.float32)


@pytest.mark.parametrize("x", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_round_trip_keeps_values_and_layout(
    tmp_path: Path, x: np.ndarray[tuple[int, int], np.dtype[np.float32]]
) -> None:
    save_split(tmp_path / "split.safetensors", LabelledData.of_labels(x, Y))
    back = load_split(tmp_path / "split.safetensors")
    assert back.is_sparse == sparse.issparse(x)
    np.testing.assert_array_equal(back.x.toarray() if back.is_sparse else back.x, X)  # type: ignore[union-attr]
    np.testing.assert_array_equal(back.y, Y)


def test_constant_column_is_the_last_one() -> None:
    expected = np.hstack([X, np.ones((3, 1))])
    np.testing.assert_array_equal(append_constant(X), expected)
    np.testing.assert_array_equal(append_constant(sparse.csr_array(X)).toarray(), expected)  # type: ignore[union-attr]


def test_rows_must_agree() -> None:
    with pytest.raises(BadInput, match="3 rows of features but 2 rows of labels"):
        LabelledData.of_labels(X, Y[:2])


def test_digits_split_is_a_partition_of_the_images() -> None:
    split = load_digits_split()
    assert (split.train.rows, split.test.rows) == (1257, 540)
    assert split.train.y.sum() + split.test.y.sum() == 1797
    together = np.concatenate([np.asarray(split.train.x), np.asarray(split.test.x)])
    assert len(np.unique(together, axis=0)) == 1797
    assert together.min() == 0.0
    assert together.max() == 1.0
